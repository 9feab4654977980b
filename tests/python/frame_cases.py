"""Code whose variables, objects and tests are others than they seem to be (breach_cases.py)."""

import dis
from types import CodeType
from typing import Any, Callable, Dict, Tuple

from assembler import VERSION, Instr, put_together, take_apart

CELLS = "def f():\n    a = 1\n    b = 2\n    return lambda: (a, b)\n"
TUPLE = "def f():\n    return 1.5, 2.5\n"
MADE = "class f:\n    x = g(y, lambda: 0)\n"
POWER = "def f(x):\n    return x ** 9\n"
SIGNED = "def f(x):\n    return +x + 1000\n"
NEGATED = "def f(x):\n    return (not x) + 1000\n"
REPEATED = "def f(x):\n    return x * 3\n"
DOCUMENTED = "def f():\n    'x'\n    return 1\n"

Change = Callable[[CodeType], CodeType]


def swapped_cells(code: CodeType) -> CodeType:
    """Exchange two cells."""
    parts = take_apart(code)
    assert code.co_cellvars == ("a", "b") and not code.co_varnames
    for instr in parts.instrs:
        name = dis.opname[instr.op]
        if name.startswith("LOAD_FAST") and "_LOAD_FAST" in name:
            instr.arg = {0x01: 0x10, 0x10: 0x01}[instr.arg]
        elif "DEREF" in name or "LOAD_FAST" in name or name in ("LOAD_CLOSURE", "MAKE_CELL"):
            instr.arg = 1 - instr.arg
    return put_together(code.replace(co_cellvars=("b", "a")), parts)


def built(code: CodeType) -> CodeType:
    """Build a tuple of constants when it runs."""
    parts = take_apart(code)
    at = next(
        i
        for i, x in enumerate(parts.instrs)
        if dis.opname[x.op] in ("LOAD_CONST", "RETURN_CONST")
        and code.co_consts[x.arg] == (1.5, 2.5)
    )
    count = len(code.co_consts)
    load, build = dis.opmap["LOAD_CONST"], dis.opmap["BUILD_TUPLE"]
    new = [Instr(load, count), Instr(load, count + 1), Instr(build, 2)]
    parts.instrs[at : at + 1] = new
    changes: Dict[str, Any] = {
        "co_consts": (*code.co_consts, 1.5, 2.5),
        "co_stacksize": code.co_stacksize + 2,
    }
    return put_together(code.replace(**changes), parts)


def late_name(code: CodeType) -> CodeType:
    """Make a function before a name is loaded."""
    parts = take_apart(code)
    at = next(
        i
        for i, x in enumerate(parts.instrs)
        if dis.opname[x.op] == "LOAD_NAME" and code.co_names[x.arg] == "y"
    )
    load = parts.instrs.pop(at)
    made = next(i for i, x in enumerate(parts.instrs) if dis.opname[x.op] == "MAKE_FUNCTION")
    swap = Instr(dis.opmap["SWAP"], 2) if VERSION >= (3, 11) else Instr(dis.opmap["ROT_TWO"], 0)
    parts.instrs[made + 1 : made + 1] = [load, swap]
    return put_together(code, parts)


def constant_for_x(value: Any) -> Change:
    """Load a constant where the argument was."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        load = next(i for i in parts.instrs if dis.opname[i.op].startswith("LOAD_FAST"))
        load.op, load.arg = dis.opmap["LOAD_CONST"], len(code.co_consts)
        return put_together(code.replace(co_consts=(*code.co_consts, value)), parts)

    return changed


def indented(code: CodeType) -> CodeType:
    """Indent a docstring."""
    lines = "a\n    b\n      c\n"
    return code.replace(co_consts=tuple(lines if c == "x" else c for c in code.co_consts))


ALL, NEWEST = (3, 8), (3, 15)
CASES: "Dict[str, Tuple[Tuple[int, int], Tuple[int, int], str, Change]]" = {
    "cells in another order": (ALL, NEWEST, CELLS, swapped_cells),
    "a tuple that is built": ((3, 14), NEWEST, TUPLE, built),
    "a function that is made too early": (ALL, NEWEST, MADE, late_name),
    "a power that is computed each time": (ALL, NEWEST, POWER, constant_for_x(10)),
    "a sum with a sign that is computed each time": (ALL, (3, 9), SIGNED, constant_for_x(1)),
    "a sum with a truth that is computed each time": (ALL, (3, 9), NEGATED, constant_for_x(0)),
    "bytes that are repeated each time": (ALL, NEWEST, REPEATED, constant_for_x(b"ab")),
    "a docstring with a margin": ((3, 13), NEWEST, DOCUMENTED, indented),
}
