# SPDX-License-Identifier: Apache-2.0
"""Code objects that grow, and that no compiler makes: `n` jumps, loops or values of one shape.

What a compiler writes nests a hundred levels deep at most; bytecode made by hand nests as deep as
it is long, and its jumps cross. `SHAPES` maps a name to the function that writes the shape with an
`Assembler`, for CPython 3.8, which has the simplest instructions. `assemble` makes a .pyc file of
it with that interpreter.
"""

import json
import random
import subprocess
from pathlib import Path
from typing import Callable, Dict, Hashable, List, Tuple, Union

OPCODES = {
    "POP_TOP": 1,
    "DUP_TOP": 4,
    "BINARY_ADD": 23,
    "RETURN_VALUE": 83,
    "POP_BLOCK": 87,
    "POP_EXCEPT": 89,
    "UNPACK_SEQUENCE": 92,
    "LOAD_CONST": 100,
    "BUILD_TUPLE": 102,
    "JUMP_IF_FALSE_OR_POP": 111,
    "JUMP_IF_TRUE_OR_POP": 112,
    "JUMP_ABSOLUTE": 113,
    "POP_JUMP_IF_FALSE": 114,
    "POP_JUMP_IF_TRUE": 115,
    "LOAD_GLOBAL": 116,
    "SETUP_FINALLY": 122,
    "LOAD_FAST": 124,
    "STORE_FAST": 125,
    "CALL_FUNCTION": 131,
    "EXTENDED_ARG": 144,
}
RELATIVE = ("SETUP_FINALLY",)
JUMP = 8  # bytes of an instruction with a target: three EXTENDED_ARGs come first

Label = Hashable


class Assembler:
    """The instructions of `def f(x, y)`, whose names are `g`, and its labels."""

    def __init__(self) -> None:
        self._parts: List[Tuple[str, Union[int, Label]]] = []
        self._places: Dict[Label, int] = {}
        self._size = 0

    def op(self, name: str, argument: int = 0) -> None:
        self._parts.append((name, argument))
        self._size += 2

    def wide(self, name: str, argument: int) -> None:
        """Write an instruction whose operand takes up to four bytes."""
        high = argument.to_bytes(4, "big")
        for byte in high[:3]:
            self.op("EXTENDED_ARG", byte)
        self.op(name, high[3])

    def jump(self, name: str, target: Label) -> None:
        self._parts.append((name, (target,)))
        self._size += JUMP

    def label(self, name: Label) -> None:
        self._places[name] = self._size

    def statement(self) -> None:
        """Write `g(x)`."""
        self.op("LOAD_GLOBAL")
        self.op("LOAD_FAST")
        self.op("CALL_FUNCTION", 1)
        self.op("POP_TOP")

    def test(self, jump: str, target: Label) -> None:
        """Jump if `y` is false, or true."""
        self.op("LOAD_FAST", 1)
        self.jump(jump, target)

    def ends(self) -> None:
        self.op("LOAD_CONST")
        self.op("RETURN_VALUE")

    def code(self) -> bytes:
        out = bytearray()
        for name, argument in self._parts:
            if isinstance(argument, int):
                out += bytes([OPCODES[name], argument])
                continue
            assert isinstance(argument, tuple)
            place = self._places[argument[0]]
            if name in RELATIVE:
                place -= len(out) + JUMP
            high = place.to_bytes(4, "big")
            out += bytes(byte for each in high[:3] for byte in (OPCODES["EXTENDED_ARG"], each))
            out += bytes([OPCODES[name], high[3]])
        return bytes(out)


def gotos(a: Assembler, n: int) -> None:
    """Blocks that lie in any order but that in which they run."""
    order = random.Random(n).sample(range(1, n), n - 1)
    after = dict(zip([0, *order], order))
    for i in range(n):
        a.label(i)
        a.statement()
        if i in after:
            a.jump("JUMP_ABSOLUTE", after[i])
        else:
            a.ends()


def chained_jumps(a: Assembler, n: int) -> None:
    """Jumps that lead to one another, in order."""
    a.statement()
    for i in range(n):
        a.label(i)
        a.jump("JUMP_ABSOLUTE", i + 1)
    a.label(n)
    a.ends()


def nested_tests(a: Assembler, n: int) -> None:
    for i in range(n):
        a.test("POP_JUMP_IF_FALSE", i)
        a.statement()
    for i in reversed(range(n)):
        a.label(i)
        a.statement()
    a.ends()


def crossing_tests(a: Assembler, n: int) -> None:
    for i in range(n):
        a.label(i)
        a.statement()
        a.test("POP_JUMP_IF_FALSE", i + 2)
    a.label(n)
    a.label(n + 1)
    a.ends()


def alternating_tests(a: Assembler, n: int) -> None:
    """`y and (y or (y and ...`."""
    for i in range(n):
        kind, target = ("FALSE", "end") if i % 2 else ("TRUE", "then")
        a.test(f"POP_JUMP_IF_{kind}", target)
    a.label("then")
    a.statement()
    a.label("end")
    a.ends()


def nested_loops(a: Assembler, n: int) -> None:
    for i in range(n):
        a.label(i)
        a.statement()
    for i in reversed(range(n)):
        a.test("POP_JUMP_IF_TRUE", i)
    a.ends()


def crossing_loops(a: Assembler, n: int) -> None:
    for i in range(n):
        a.label(i)
        a.statement()
    for i in range(n):
        a.test("POP_JUMP_IF_TRUE", i)
    a.ends()


def entries_of_a_loop(a: Assembler, n: int) -> None:
    for i in range(n):
        a.test("POP_JUMP_IF_TRUE", i)
    for i in range(n):
        a.label(i)
        a.statement()
    a.test("POP_JUMP_IF_TRUE", 0)
    a.ends()


def nested_handlers(a: Assembler, n: int) -> None:
    for i in range(n):
        a.jump("SETUP_FINALLY", i)
        a.statement()
    for i in reversed(range(n)):
        a.op("POP_BLOCK")
        a.jump("JUMP_ABSOLUTE", ("after", i))
        a.label(i)
        for _ in range(3):
            a.op("POP_TOP")
        a.statement()
        a.op("POP_EXCEPT")
        a.label(("after", i))
    a.ends()


def nested_sums(a: Assembler, n: int) -> None:
    """`x + (x + (x + ...`."""
    for _ in range(n):
        a.op("LOAD_FAST")
    for _ in range(n - 1):
        a.op("BINARY_ADD")
    a.op("RETURN_VALUE")


def nested_walruses(a: Assembler, n: int) -> None:
    """`y = (y := (y := ...`."""
    a.op("LOAD_FAST")
    for _ in range(n):
        a.op("DUP_TOP")
    for _ in range(n):
        a.op("STORE_FAST", 1)
    a.op("RETURN_VALUE")


def high_stacks(a: Assembler, n: int) -> None:
    """Tests while there are `n` values on the stack."""
    for _ in range(n):
        a.op("LOAD_FAST")
    for i in range(n):
        a.test("POP_JUMP_IF_FALSE", i)
        a.statement()
        a.label(i)
    for _ in range(n - 1):
        a.op("BINARY_ADD")
    a.op("RETURN_VALUE")


def named_elements(a: Assembler, n: int) -> None:
    """`(y, (y := x), y, (y := x), ...)` in one instruction: loads and names in turn."""
    for _ in range(n):
        a.op("LOAD_FAST", 1)
        a.op("LOAD_FAST")
        a.op("DUP_TOP")
        a.op("STORE_FAST", 1)
    a.wide("BUILD_TUPLE", 2 * n)
    a.op("RETURN_VALUE")


def names_after_loads(a: Assembler, n: int) -> None:
    """`(y, y, ..., (y := x), (y := x), ...)`."""
    for _ in range(n):
        a.op("LOAD_FAST", 1)
    for _ in range(n):
        a.op("LOAD_FAST")
        a.op("DUP_TOP")
        a.op("STORE_FAST", 1)
    a.wide("BUILD_TUPLE", 2 * n)
    a.op("RETURN_VALUE")


def wide_unpackings(a: Assembler, n: int) -> None:
    """Blocks that each unpack `n` values, and leave them."""
    for i in range(n):
        a.test("POP_JUMP_IF_FALSE", i)
        a.op("LOAD_FAST")
        a.wide("UNPACK_SEQUENCE", n)
        a.op("RETURN_VALUE")
        a.label(i)
    a.ends()


SHAPES: Dict[str, Callable[[Assembler, int], None]] = {
    "gotos": gotos,
    "chained-jumps": chained_jumps,
    "nested-tests": nested_tests,
    "crossing-tests": crossing_tests,
    "alternating-tests": alternating_tests,
    "nested-loops": nested_loops,
    "crossing-loops": crossing_loops,
    "entries-of-a-loop": entries_of_a_loop,
    "nested-handlers": nested_handlers,
    "nested-sums": nested_sums,
    "nested-walruses": nested_walruses,
    "named-elements": named_elements,
    "names-after-loads": names_after_loads,
    "wide-unpackings": wide_unpackings,
    "high-stacks": high_stacks,
}

WRITER = """
import importlib.util, json, marshal, sys
code = compile("def f(x, y): g(x)", "grown.py", "exec")
f = next(c for c in code.co_consts if hasattr(c, "co_code"))
for path, text in json.load(sys.stdin).items():
    made = f.replace(co_code=bytes.fromhex(text), co_stacksize=len(text), co_lnotab=b"")
    consts = tuple(made if c is f else c for c in code.co_consts)
    with open(path, "wb") as out:
        out.write(importlib.util.MAGIC_NUMBER + bytes(12))
        out.write(marshal.dumps(code.replace(co_consts=consts)))
"""


def assemble(python: str, shape: str, sizes: Dict[Path, int]) -> None:
    """Write .pyc files of a shape; `python` is CPython 3.8, `sizes` has each file's `n`."""
    texts = {}
    for path, n in sizes.items():
        assembler = Assembler()
        SHAPES[shape](assembler, n)
        texts[str(path)] = assembler.code().hex()
    subprocess.run([python, "-c", WRITER], input=json.dumps(texts), text=True, check=True)
