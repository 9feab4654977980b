"""Writes `.pyc` files that are made to mislead: python3.N misleading_codes.py OUT

Of each kind a few: variables that look the same, junk that nothing reaches, operands that nothing
reads, constants that nothing loads, tables and names that are gone. Every file runs.
"""

import dis
import importlib.util
import marshal
import sys
import types
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

VERSION = sys.version_info[:2]
OP = dis.opmap
NAMES = ("co_names", "co_varnames", "co_freevars", "co_cellvars")
# A jump counts in bytes up to 3.9, then in units.
UNIT = 1 if VERSION >= (3, 10) else 2
UNDEFINED = next(n for n in range(250, 0, -1) if dis.opname[n].startswith("<") and n != 255)

PROGRAM = """
LIMIT = 3


def grade(score, bonus=1):
    if score > LIMIT:
        return "high" + "!" * bonus
    elif score == LIMIT:
        return "mid"
    return "low"


def total(rows):
    found = 0
    for row in rows:
        if row < 0:
            continue
        found += row
    return found


class Shape:
    sides = 4

    def area(self, w, h=2):
        return w * h * self.sides


print(grade(5), grade(3), grade(1), total([1, -2, 3]), Shape().area(2))
"""
# Programs in which `one`, `two` and `three` are different things.
TWINS = {
    "locals": "def f(arg):\n one = 1\n two = 20\n for three in (300,):\n  one += 4000\n"
    " return arg, one, two, three\nprint(f(5))",
    "arguments": "def f(one, two): return one - two\nprint(f(7, 3))",
    "cells": "def f():\n one = 1\n two = 2\n return lambda: (one, two)\nprint(f()())",
    "comprehension": "def f():\n one = 5\n return [two for two in (1, 2)], one\nprint(f())",
    "globals": "one = 1\ntwo = 20\none += 4000\nprint(one, two)",
    "attributes": "class A: pass\na = A()\na.one = 1\na.two = 2\nprint(a.one, a.two)",
    "declared": "def f(one):\n global two\n two = 1\n return one\nprint(f(3))",
    "keywords": "def f(**k): return len(k)\nprint(f(one=1, two=2))",
}
TABLES = {
    "same": {"one": "x", "two": "x", "three": "x"},
    "ligature": {"one": "\ufb01", "two": "fi", "three": "\ufb02"},
    "composed": {"one": "e\u0301a", "two": "\xe9a", "three": "ea"},
    "wide": {"one": "\uff41", "two": "a", "three": "\U0001d41a"},
    "fitted": {"one": "a b", "two": "_ab", "three": "a-b"},
    "mangled": {"one": "_A__z", "two": "__z", "three": "__z_"},
    "soft": {"one": "match", "two": "type", "three": "case"},
    "builtin": {"one": "print_", "two": "__name__", "three": "__builtins__"},
    "declared": {"one": "LIMIT", "two": "f", "three": "arg"},
}
# Names that are code where they stand, and would run if they were written as they are.
INJECTED = {
    "call": ("def f(**k): return 1\nf(NAME=1)", 'a=0)\nprint("INJECTED")\nf(b'),
    "class": (
        "class M(type):\n def __new__(m, n, s, d, **k): return type.__new__(m, n, s, d)\n"
        " def __init__(*a, **k): pass\nclass A(metaclass=M, NAME=1): pass",
        'a=0): pass\nprint("INJECTED")\nclass B(metaclass=M, z',
    ),
    "future": (
        "from __future__ import annotations\ndef f(x: NAME): pass",
        '0): pass\nprint("INJECTED")\ndef g(y',
    ),
    "import": ("try:\n from os import NAME\nexcept ImportError: print(1)", 'a\nprint("INJECTED")'),
}
# What no text can say there.
INJECTED["future import"] = (
    "def f():\n from NAME import annotations\n return 1\nprint(f())",
    "__future__",
)
if VERSION >= (3, 10):
    INJECTED["match"] = (
        "class A: pass\nmatch 1:\n case A(NAME=3): print(2)",
        'x=3): pass\nprint("INJECTED")\nmatch 1:\n case A(y',
    )
if VERSION >= (3, 12):
    INJECTED["type"] = ("def f[NAME](x): pass", 'T](x): pass\nprint("INJECTED")\ndef g[U')


def renamed(value: Any, table: Dict[str, str]) -> Any:
    """The value with other names, nested code included."""
    if isinstance(value, tuple):
        return tuple(renamed(item, table) for item in value)
    if not isinstance(value, types.CodeType):
        return table.get(value, value) if isinstance(value, str) else value
    fields = {kind: tuple(table.get(n, n) for n in getattr(value, kind)) for kind in NAMES}
    return value.replace(co_consts=renamed(value.co_consts, table), **fields)


def inside(code: types.CodeType, change: Callable[[types.CodeType], types.CodeType]) -> Any:
    """The code with every code object nested in it changed, inner ones first."""
    consts = (
        change(inside(const, change)) if isinstance(const, types.CodeType) else const
        for const in code.co_consts
    )
    return code.replace(co_consts=tuple(consts))


def of_functions(change: Callable[[types.CodeType], types.CodeType]) -> Any:
    """PROGRAM with its two functions changed."""
    names = ("grade", "total")
    return inside(BASE, lambda code: change(code) if code.co_name in names else code)


def no_lines(size: int) -> bytes:
    """A table that says nothing of `size` bytes."""
    if VERSION < (3, 10):
        return b""
    if VERSION == (3, 10):
        return b"".join(bytes([min(254, size - at), 0]) for at in range(0, size, 254))
    units = size // 2
    return b"".join(bytes([0x80 | 15 << 3 | min(8, units - at) - 1]) for at in range(0, units, 8))


def with_text(code: types.CodeType, text: bytes, **more: Any) -> types.CodeType:
    """The code with other instructions and no lines."""
    table = "co_linetable" if VERSION >= (3, 10) else "co_lnotab"
    return code.replace(co_code=text, **{table: no_lines(len(text))}, **more)


def before(code: types.CodeType, added: List[int], **more: Any) -> types.CodeType:
    """The code with instructions at its start, after what has to come first."""
    start = 2 if VERSION >= (3, 11) else 0
    text = bytearray(code.co_code)
    if VERSION < (3, 11):
        for at in range(0, len(text), 2):
            if text[at] in dis.hasjabs:
                text[at + 1] += len(added) // 2 * UNIT
    return with_text(code, bytes(text[:start]) + bytes(added) + bytes(text[start:]), **more)


def messages(code: types.CodeType) -> types.CodeType:
    """The code with a message in the operands of instructions that have none."""
    text, secret = bytearray(code.co_code), iter(b"FLAG{nobody reads this}" * 20)
    for instruction in dis.get_instructions(code):
        op = text[instruction.offset]
        if op < dis.HAVE_ARGUMENT and instruction.opname not in ("CACHE", "RESERVED"):
            text[instruction.offset + 1] = next(secret)
    return code.replace(co_code=bytes(text))


def bare(code: types.CodeType) -> types.CodeType:
    """The code without lines, file and names of its own."""
    more = {"co_qualname": ""} if VERSION >= (3, 11) else {}
    return code.replace(co_filename="", co_name="", co_firstlineno=1, **more)


JUNK = [UNDEFINED, 7, 255, 99, OP["LOAD_CONST"], 200, UNDEFINED, UNDEFINED]
DEAD = [OP["LOAD_CONST"], 250, OP["STORE_NAME"], 199, OP["JUMP_FORWARD"], 77]
if VERSION == (3, 14):
    # It looks at every instruction when a code object is made, and survives none of the others.
    JUNK, DEAD = [OP["STORE_NAME"], 77] * 3, [OP["STORE_NAME"], 199, OP["JUMP_FORWARD"], 77]
BASE = compile(PROGRAM, "program.py", "exec")


def jump(over: List[int]) -> List[int]:
    """A jump over instructions, and these."""
    return [OP["JUMP_FORWARD"], len(over) // 2 * UNIT, *over]


def all_codes() -> Iterator[Tuple[str, types.CodeType]]:
    """Every file's name and code."""
    for program, text in TWINS.items():
        for kind, table in TABLES.items():
            if kind == "same" and program in ("globals", "attributes", "keywords"):
                continue
            yield f"twins.{program}.{kind}", renamed(compile(text, "x.py", "exec"), table)
    for place, (text, name) in INJECTED.items():
        code = renamed(compile(text, "x.py", "exec"), {"NAME": name})
        yield f"injected.{place}", code
    yield "junk.jumped over", of_functions(lambda code: before(code, jump(JUNK)))
    yield (
        "junk.after the end",
        of_functions(
            lambda code: (
                with_text(code, code.co_code + bytes(JUNK))
                if VERSION < (3, 11)
                else with_text(code, code.co_code + bytes(JUNK), co_exceptiontable=b"")
            )
        ),
    )
    yield "junk.dead operands", of_functions(lambda code: before(code, jump(DEAD)))
    yield "hidden.messages", messages(inside(BASE, messages))
    hidden = compile("print('hidden')", "hidden", "exec")
    yield (
        "hidden.constants",
        of_functions(
            lambda code: code.replace(co_consts=(*code.co_consts, "http://x.example", hidden))
        ),
    )
    yield "hidden.names", of_functions(lambda code: code.replace(co_names=(*code.co_names, "a b")))
    yield (
        "hidden.odd constants",
        of_functions(
            lambda code: code.replace(co_consts=(*code.co_consts, [1, [2]], {"a": {1}}, hidden))
        ),
    )
    yield "gone.names", bare(inside(BASE, bare))
    yield "gone.names but the module's", inside(BASE, bare)
    for name in ("<module>", "<lambda>", "same", "a b", "<listcomp>"):
        yield f"called.{name}", inside(BASE, lambda code, name=name: code.replace(co_name=name))
    yield (
        "gone.local names",
        inside(BASE, lambda code: code.replace(co_varnames=tuple("" for _ in code.co_varnames))),
    )
    yield (
        "lies.stack and flags",
        of_functions(lambda code: code.replace(co_stacksize=code.co_stacksize + 900)),
    )
    yield "plain", BASE


def main(out: Path) -> None:
    """Write them."""
    out.mkdir(parents=True, exist_ok=True)
    for name, code in all_codes():
        for character in " <>'":
            name = name.replace(character, "_")
        data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
        (out / f"{name}.pyc").write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
