"""Up to 3.11 code may ask a false operand of `and` once or twice: a proven text does the same."""

import subprocess
from pathlib import Path
from typing import List, Tuple

import pytest
from pellucid.decompilation import prove_pyc

ADVERSARY = Path(__file__).resolve().parents[2] / "fuzz" / "adversary"
# Writes a module with a second test of the first operand.
CHANGED = """
import dis, marshal, sys
sys.path.insert(0, sys.argv[1])
from assembler import put_together, take_apart
module = compile("def f(x, y, z):\\n    return x and y and z\\n", "again.py", "exec")
code = module.co_consts[0]
parts = take_apart(code)
first, second = [i for i in parts.instrs if dis.opname[i.op] == "JUMP_IF_FALSE_OR_POP"]
first.target = second
code = put_together(code, parts)
sys.stdout.buffer.write(marshal.dumps(module.replace(co_consts=(code, *module.co_consts[1:]))))
"""
COMPILED = """
import marshal, sys
code = compile(sys.stdin.read(), "again.py", "exec", dont_inherit=True)
sys.stdout.buffer.write(marshal.dumps(code))
"""
# Up to 3.11 a compiler skips some second tests: of one operation on one line, since 3.10.
ON_LINES = """def f(x, y, z):
    return (
        z and
        x and y or
        not z
    ), (x and y or z), (x if y else z or x) or y, (z if y else y or x) and x, (
        y
        and (
            x and z
        )
        or z
    )
"""
ASKED = """
import marshal, sys
class Asked:
    def __bool__(self):
        print("asked")
        return False
given = sys.stdin.buffer.read()
code = compile(given, "again.py", "exec") if sys.argv[1] == "text" else marshal.loads(given)
names = {}
exec(code, names)
for given in (Asked(), 1, 1), (Asked(), 1, 0), (Asked(), 0, 1), (Asked(), 0, 0):
    names["f"](*given)
    print()
"""


def asked(python: str, kind: str, given: bytes) -> "List[int]":
    done = subprocess.run(
        [python, "-c", ASKED, kind], input=given, stdout=subprocess.PIPE, check=True
    )
    return [part.count(b"asked") for part in done.stdout.split(b"\n\n")]


@pytest.mark.parametrize("tier", ["recompiled", "relowered"])
def test_an_operand_is_asked_as_often(any_python: Tuple[str, str], tier: str) -> None:
    version, python = any_python
    wanted = (3, int(version.split(".")[1]))
    if wanted > (3, 11):
        return
    data = subprocess.run(
        [python, "-c", CHANGED, str(ADVERSARY)], stdout=subprocess.PIPE, check=True
    ).stdout
    assert asked(python, "code", data)[0] == 2
    found, verdict = prove_pyc(data, tier, version=wanted)
    if verdict.at_least("equivalent"):
        assert asked(python, "text", found.source.encode()) == asked(python, "code", data)


@pytest.mark.parametrize("tier", ["recompiled", "relowered"])
def test_lines_say_which_operand_is_asked_again(any_python: Tuple[str, str], tier: str) -> None:
    version, python = any_python
    data = subprocess.run(
        [python, "-c", COMPILED], input=ON_LINES.encode(), stdout=subprocess.PIPE, check=True
    ).stdout
    found, verdict = prove_pyc(data, tier, version=(3, int(version.split(".")[1])))
    assert verdict.at_least("equivalent"), (verdict.reason, found.source)
    assert asked(python, "text", found.source.encode()) == asked(python, "code", data)
