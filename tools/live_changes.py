# SPDX-License-Identifier: Apache-2.0
"""Code objects of the standard library, and random changes of them that CPython accepts.

What `fuzz_live.py` tries: the seeds that it starts from and one change after another.
"""

import contextlib
import importlib.util
import opcode
import os
import random
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

MODULES = [
    *("argparse", "ast", "asyncio.tasks", "calendar", "codecs", "collections"),
    *("configparser", "contextlib", "copy", "csv", "dataclasses", "difflib"),
    *("dis", "enum", "fractions", "functools", "gettext", "gzip"),
    *("heapq", "inspect", "json.encoder", "locale", "optparse", "os"),
    *("pickle", "platform", "pprint", "random", "shlex", "shutil"),
    *("socket", "statistics", "string", "tarfile", "tempfile", "textwrap"),
    *("threading", "tokenize", "traceback", "types", "typing", "uuid"),
    *("warnings", "weakref", "zipfile"),
]

LARGEST = 500  # bytes of bytecode: a change does more in small functions, and they take less time
# CPython looks for the caches of the last instructions beyond the end of the bytecode.
UNTOUCHED = 30

CodeType = types.CodeType

_INTERNAL = {
    number
    for name, number in opcode.opmap.items()
    if name.startswith(("INSTRUMENTED", "ENTER_EXECUTOR", "RESERVED", "TRACE_RECORD"))
}
# Beyond those that have names there are CPython's own, which look for what is not there.
_NAMED = [number for number in opcode.opmap.values() if number < 256 and number not in _INTERNAL]
_OPCODES = sorted(_NAMED)


class Text(str):
    """A subclass of what a literal writes."""


class Whole(int):
    """A subclass of what a literal writes."""


class Awkward:
    """An object that answers nothing as one would think."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("do not compare")

    def __hash__(self) -> int:
        return 7

    def __bool__(self) -> bool:
        raise ValueError("do not ask")

    def __getattr__(self, name: str) -> Any:
        raise ValueError("do not look")

    def __repr__(self) -> str:
        raise ValueError("do not print")


def _deep(depth: int) -> Any:
    value: Any = ()
    for _ in range(depth):
        value = (value,)
    return value


def _cyclic() -> Any:
    inner: List[Any] = []
    value = (inner,)
    inner.append(value)
    return value


def _nothing() -> None:
    return None


_CODE = _nothing.__code__
CONSTANTS: List[Any] = [
    *(
        None,
        True,
        False,
        ...,
        0,
        1,
        -1,
        255,
        256,
        -5,
        2**31,
        2**63,
        -(2**63),
        2**64,
        -(2**200),
        10**500,
    ),
    *(0.0, -0.0, 1.5, float("inf"), float("nan"), 1e308, 5e-324, 1j, -0j, complex("nan+infj")),
    *(
        "",
        "a",
        "x.y",
        "\0",
        "\ud800",
        "a\udfffb",
        "é",
        "\U0001f600",
        "class",
        "'\"\\\n",
        "%s",
        "{x}",
    ),
    *("a" * 3000, b"", b"\0\xff", b"x" * 3000, "__doc__", ".0", "f.<locals>.g", "*", "__class__"),
    *(
        (),
        (1,),
        ("a", "b"),
        ("x", 1),
        (None, (1, (2,))),
        ("\ud800",),
        (1, [2]),
        _deep(150),
        _deep(5000),
    ),
    *((_CODE,), (1, (_CODE,)), _CODE, _cyclic(), (...,), (True, 1, 1.0), ("",), ("*",), ("class",)),
    *(
        frozenset(),
        frozenset({1, 2}),
        frozenset({"a", (1, 2)}),
        frozenset({frozenset()}),
        (frozenset(),),
    ),
    *([], [1], {}, {1: 2}, set(), bytearray(b"x"), range(3), slice(1, 2, 3), slice(None), object()),
    *(
        Text("a"),
        Whole(3),
        Awkward(),
        (Awkward(),),
        len,
        iter,
        print,
        _nothing,
        lambda a, b: (b, a),
    ),
    *(int, type, Awkward, os, sys, NotImplemented, StopIteration, AssertionError, memoryview(b"a")),
]
NAMES = [
    *(
        "a",
        "b",
        "self",
        "x",
        "",
        ".0",
        "1",
        "class",
        "None",
        "a.b",
        "a-b",
        "\ud800",
        "\0",
        "é",
        "ﬁ",
    ),
    *(
        "__class__",
        "__debug__",
        "__doc__",
        "_",
        "*",
        ".type_params",
        ".generic_base",
        ".kwdefaults",
    ),
    *("AssertionError", "__annotate__", "locals", "super", "print", "n" * 400, "@py_assert1"),
]
CODE_NAMES = [
    *(
        "<lambda>",
        "<genexpr>",
        "<listcomp>",
        "<setcomp>",
        "<dictcomp>",
        "<module>",
        "<generic parameters of f>",
    ),
    *(
        "__annotate__",
        "f",
        "",
        "class",
        "\ud800",
        "a b",
        "<",
        "<locals>",
        "resume_in_<lambda>",
        "_",
        "T",
    ),
]
EDGES = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 254, 255]


class Changer:
    """Changes of one try: all that is random comes from its number."""

    def __init__(self, rng: random.Random, pool: List[CodeType]) -> None:
        self.rng = rng
        self.pool = pool

    def changed(self, code: CodeType, depth: int = 0) -> CodeType:
        """Return `code` with a few changes that CPython accepts."""
        changes: List[Callable[[CodeType, int], Dict[str, Any]]] = [
            *([self.bytecode] * 6),
            *([self.constants] * 3),
            *([self.nested] * 2),
            *([self.counts] * 2),
            *([self.flags] * 2),
            *([self.names] * 2),
            *([self.tables] * 2),
            self.titles,
            self.stranger,
        ]
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3, 5])):
            change = self.rng.choice(changes)(code, depth)
            # CPython looks at it first.
            with contextlib.suppress(ValueError, TypeError, OverflowError, SystemError):
                code = code.replace(**change)
        return code

    def bytecode(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change instructions, all but the last."""
        rng = self.rng
        units = bytearray(code.co_code)
        end = (len(units) - UNTOUCHED) // 2
        if end <= 0:
            return {}
        for _ in range(rng.choice([1, 1, 2, 3, 8])):
            at = 2 * rng.randrange(end)
            kind = rng.randrange(8)
            if kind <= 1:
                units[at] = rng.choice(_OPCODES)
            elif kind <= 3:
                units[at + 1] = rng.choice(EDGES) if rng.random() < 0.7 else rng.randrange(256)
            elif kind == 4:
                units[at : at + 2] = bytes([rng.choice(_OPCODES), rng.choice(EDGES)])
            elif kind == 5:
                other = 2 * rng.randrange(end)
                pair = units[at : at + 2], units[other : other + 2]
                units[other : other + 2], units[at : at + 2] = pair
            elif kind == 6:
                taken = rng.choice(self.pool).co_code
                start = 2 * rng.randrange(max(1, len(taken) // 2))
                piece = taken[start : start + 2 * rng.randrange(1, 12)][: 2 * end - at]
                units[at : at + len(piece)] = piece
            elif 2 * end - at > 12:
                count = 2 * rng.randrange(1, 6)
                units[at : at + count] = bytes([opcode.opmap["NOP"], 0]) * (count // 2)
        # Those that only CPython writes look for what it keeps beside the bytecode.
        for at in range(0, len(units), 2):
            if units[at] in _INTERNAL:
                units[at] = opcode.opmap["NOP"]
        return {"co_code": bytes(units)}

    def constants(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Put anything among the constants, or take some away."""
        rng = self.rng
        consts = list(code.co_consts)
        for _ in range(rng.choice([1, 1, 2, 4])):
            kind = rng.randrange(5)
            value = rng.choice(CONSTANTS)
            if kind <= 2 and consts:
                consts[rng.randrange(len(consts))] = value
            elif kind == 3:
                consts.insert(rng.randrange(len(consts) + 1), value)
            elif consts:
                del consts[rng.randrange(len(consts))]
        return {"co_consts": tuple(consts)}

    def nested(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change a code object within."""
        consts = list(code.co_consts)
        places = [i for i, const in enumerate(consts) if isinstance(const, CodeType)]
        if not places or depth > 3:
            return self.bytecode(code, depth)
        place = self.rng.choice(places)
        consts[place] = self.changed(consts[place], depth + 1)
        return {"co_consts": tuple(consts)}

    def stranger(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Put another function in the place of one within, or of any constant."""
        consts = list(code.co_consts)
        if not consts:
            return {}
        places = [i for i, const in enumerate(consts) if isinstance(const, CodeType)]
        place = self.rng.choice(places or range(len(consts)))
        consts[place] = code if self.rng.random() < 0.1 else self.rng.choice(self.pool)
        return {"co_consts": tuple(consts)}

    def counts(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change numbers."""
        rng = self.rng
        small = ["co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals"]
        field = rng.choice([*small, "co_stacksize", "co_firstlineno"])
        values = [-1, 0, 1, 2, 3, 7, 255, 65535, 2**31 - 1, -(2**31)]
        return {
            field: getattr(code, field) + rng.choice([-1, 1, 0])
            if rng.random() < 0.3
            else rng.choice(values)
        }

    def flags(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change flags."""
        flags = code.co_flags
        for _ in range(self.rng.choice([1, 1, 2])):
            flags ^= 1 << self.rng.choice([*range(9), *range(9), *range(31)])
        return {"co_flags": flags}

    def names(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change names, how many there are, or their order."""
        rng = self.rng
        field = rng.choice(["co_names", "co_varnames", "co_cellvars", "co_freevars"])
        names = list(getattr(code, field))
        kind = rng.randrange(5)
        if kind <= 1 and names:
            names[rng.randrange(len(names))] = rng.choice([*NAMES, *code.co_varnames])
        elif kind == 2:
            names.insert(rng.randrange(len(names) + 1), rng.choice([*NAMES, *code.co_varnames]))
        elif kind == 3 and names:
            del names[rng.randrange(len(names))]
        else:
            rng.shuffle(names)
        change: Dict[str, Any] = {field: tuple(names)}
        if field == "co_varnames" and rng.random() < 0.8:
            change["co_nlocals"] = len(names)
        return change

    def titles(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change what it is called."""
        fields = ["co_name", "co_filename"] + ["co_qualname"] * (sys.version_info >= (3, 11))
        return {self.rng.choice(fields): self.rng.choice(CODE_NAMES)}

    def tables(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change the tables of lines or of exceptions."""
        rng = self.rng
        fields = ["co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"]
        fields += ["co_exceptiontable"] * 3 if sys.version_info >= (3, 11) else []
        field = rng.choice(fields)
        table = bytearray(getattr(code, field))
        for _ in range(rng.choice([1, 2, 5])):
            at = rng.randrange(len(table) + 1)
            kind = rng.randrange(4)
            if kind <= 1 and at < len(table):
                table[at] = rng.choice(EDGES) if kind else table[at] ^ 1 << rng.randrange(8)
            elif kind == 2:
                table[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 6)))
            else:
                del table[at : at + rng.randrange(1, 6)]
        return {field: bytes(table)}

    def facts(self, code: CodeType) -> "Optional[Dict[str, List[str]]]":
        """Say something of what the code uses, as of generated code."""
        if self.rng.random() < 0.7:
            return None

        def some(names: Tuple[str, ...]) -> List[str]:
            return [name for name in names if self.rng.random() < 0.6]

        facts = {"temporaries": some(code.co_varnames), "steady": some(code.co_names)}
        for kind in ["apart", "reads", "graphs", "objects", "makers"]:
            facts[kind] = [name for name in facts["steady"] if self.rng.random() < 0.4]
        facts["owned"] = some(code.co_names)
        facts["nested"] = [c.co_name for c in code.co_consts if isinstance(c, CodeType)]
        return facts


def seeds() -> List[CodeType]:
    """Return the code objects that are changed, in an order that every run has."""
    found: List[CodeType] = []
    for name in MODULES:
        try:
            spec = importlib.util.find_spec(name)
            code = spec.loader.get_code(name)  # type: ignore[union-attr]
        except (ImportError, AttributeError):
            continue
        todo = [code] if isinstance(code, CodeType) else []
        while todo:
            one = todo.pop()
            if 2 * UNTOUCHED < len(one.co_code) <= LARGEST:
                found.append(one)
            todo += [const for const in one.co_consts if isinstance(const, CodeType)]
    return found
