"""Values that wait on the stack while others are stored, in an order that no compiler has.

Dynamo writes such code: it stores the values of a frame from the last one down. Run under the
Python whose code is changed, it writes a marshalled module to standard output.
"""

import dis
import marshal
import sys
from pathlib import Path
from types import CodeType

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz" / "adversary"))

from assembler import put_together, take_apart

SOURCE = """
def beside_an_attribute(s, x, y):
    s.n, h = y(), x()
    return h
def beside_an_item(s, x, y):
    s[x], h = y(), x()
    return h
def two_beside_an_attribute(s, x, y):
    s.n, h, k = y(), x(), s()
    return h, k
def beside_a_cell(s, x, y):
    c, h = y(), x()
    return h, lambda: c
def many_locals(s, x, y):
    a, b, c, d, e = x(), y(), s(), x(1), y(2)
    return a, b, c, d, e
def two_locals(s, x, y):
    h, k = y(), x()
    return h, k
def three_locals(s, x, y):
    h, k, m = y(), x(), s()
    return h, k, m
def two_constants(s, x, y):
    x = 1.5
    y = "k"
    print(x, y)
"""
ORDER = ("SWAP", "ROT_TWO", "ROT_THREE", "BUILD_TUPLE", "UNPACK_SEQUENCE")


def last_first(code: CodeType) -> CodeType:
    """Leave out what puts the values of an assignment in order."""
    parts = take_apart(code)
    names = [dis.opname[instr.op] for instr in parts.instrs]
    end = max(i for i, name in enumerate(names) if name.startswith("STORE_"))
    kept = [instr for i, instr in enumerate(parts.instrs) if i > end or names[i] not in ORDER]
    parts.instrs[:] = kept
    return put_together(code, parts)


def first_store_later(code: CodeType) -> CodeType:
    """Put the first store behind the second one."""
    parts = take_apart(code)
    first, second = (
        i for i, instr in enumerate(parts.instrs) if dis.opname[instr.op] == "STORE_FAST"
    )
    parts.instrs.insert(second, parts.instrs.pop(first))
    return put_together(code, parts)


def changed(code: CodeType) -> CodeType:
    return (first_store_later if code.co_name == "two_constants" else last_first)(code)


def main() -> None:
    """Write the module of all functions."""
    module = compile(SOURCE, "waiting.py", "exec", dont_inherit=True)
    consts = [changed(c) if isinstance(c, CodeType) else c for c in module.co_consts]
    sys.stdout.buffer.write(marshal.dumps(module.replace(co_consts=tuple(consts))))


if __name__ == "__main__":
    main()
