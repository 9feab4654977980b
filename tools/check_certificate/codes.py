# SPDX-License-Identifier: Apache-2.0
"""Code objects as the checker reads them: instructions, handlers, constants, headers.

Everything here follows the documentation of `dis` and of the code object's attributes, and the
description of the exception table that comes with CPython.
"""

import dis
import struct
import sys
import types
from typing import Any, Iterator, List, NamedTuple, Optional, Set, Tuple

VERSION = sys.version_info[:2]
# How far FOR_ITER jumps beyond its argument: over END_FOR, and in 3.13 over the POP_TOP after it.
_BEYOND_LOOP = 2 if VERSION == (3, 13) else 1
_AFTER_LOOP = ("END_FOR", "POP_TOP") if VERSION == (3, 13) else ("END_FOR",)
_HAS_DOCSTRING = 0x4000000  # 3.14
_JUMPS = {*dis.hasjrel, *dis.hasjabs}


class Refused(Exception):
    """The checker does not accept a step; the message says why."""


class Handler(NamedTuple):
    """Where an exception arrives, and with which stack."""

    target: int  # the number of an instruction
    depth: int
    keeps_place: bool  # the offset of what raised is pushed below the exception


class Instruction(NamedTuple):
    """One instruction; places are numbers of instructions, not offsets."""

    op: str
    arg: int
    value: Any  # what `dis` says the argument means
    text: str  # and how it prints that
    offset: int
    target: Optional[int]  # of a jump
    handler: Optional[Handler]


def check_raw(code: types.CodeType) -> None:
    """Raise Refused if the code holds specialized instructions, which `co_code` does not show."""
    plain = code.replace(co_code=code.co_code)
    held, expected = (c._co_code_adaptive for c in (code, plain))  # type: ignore[attr-defined]
    if held != expected:
        raise Refused("it holds specialized instructions, or has been run")


class Code:
    """A code object with its instructions. Raises Refused if it is none that a compiler writes."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
        self.slots = code.co_varnames + cells + code.co_freevars
        self.first_free = len(self.slots) - len(code.co_freevars)
        listed, starts = _listed(code)
        self.numbers = {start: number for number, start in enumerate(starts)}
        # By the offset of a prefix or of what follows it, as a certificate may have it.
        self.near = {
            offset: number
            for number, (start, i) in enumerate(zip(starts, listed))
            for offset in range(start, i.offset + 2, 2)
        }
        self.instructions: List[Instruction] = []
        rows = list(_rows(code.co_exceptiontable))
        ends = [*starts[1:], len(code.co_code)]
        for found, end in zip(listed, ends):
            target = None
            if found.opname == "FOR_ITER":
                target = self._place(end + 2 * ((found.arg or 0) + _BEYOND_LOOP))
            elif found.opcode in _JUMPS and found.opname != "END_ASYNC_FOR":
                target = self._place(found.argval)
            handler = self._handler(rows, found.offset, end)
            said = found.opname, found.arg or 0, found.argval, found.argrepr, found.offset
            self.instructions.append(Instruction(*said, target, handler))
        for number, instruction in enumerate(self.instructions):
            if instruction.op == "FOR_ITER":
                self._check_loop(number, instruction.target or 0)

    def _place(self, offset: int) -> int:
        if offset not in self.numbers:
            raise Refused(f"a jump leads to offset {offset}, where no instruction starts")
        return self.numbers[offset]

    def _check_loop(self, number: int, after: int) -> None:
        ops = tuple(i.op for i in self.instructions[max(0, after - len(_AFTER_LOOP)) : after])
        if ops != _AFTER_LOOP:
            raise Refused(f"the loop at instruction {number} does not end with {_AFTER_LOOP}")

    def _handler(
        self, rows: "List[Tuple[int, int, int, int, bool]]", offset: int, end: int
    ) -> Optional[Handler]:
        """Return the handler of an instruction; all of its units must have the same."""
        found = {_row_of(rows, unit) for unit in range(offset, end, 2)}
        if len(found) != 1:
            raise Refused(f"the exception table divides the instruction at offset {offset}")
        row = found.pop()
        return None if row is None else Handler(self._place(row[2]), row[3], row[4])

    def targets(self) -> Set[int]:
        """Return the offsets that a jump leads to, with and without prefixes."""
        found = {i.target for i in self.instructions if i.target is not None}
        return {offset for offset, number in self.near.items() if number in found}

    def backward_targets(self) -> Set[int]:
        """Return the places that a jump leads back to."""
        return {
            i.target
            for number, i in enumerate(self.instructions)
            if i.target is not None and i.target <= number
        }


def _listed(code: types.CodeType) -> "Tuple[List[dis.Instruction], List[int]]":
    """Return the instructions, and where each starts with the prefixes of its argument."""
    listed, starts = [], []
    start = None
    for instruction in dis.get_instructions(code):
        start = instruction.offset if start is None else start
        if instruction.opname != "EXTENDED_ARG":
            if instruction.offset - start > 6:
                raise Refused("an argument of more than four bytes")
            listed.append(instruction)
            starts.append(start)
            start = None
    return listed, starts


def _rows(table: bytes) -> "Iterator[Tuple[int, int, int, int, bool]]":
    """Yield start, end, target (in bytes), depth and whether the place is pushed.

    The interpreter looks for a row by halving, so that rows have to be in order and marked.
    """
    at, before = 0, 0
    while at < len(table):
        fields, first = [], at
        for _ in range(4):
            value = 0
            while True:
                byte = table[at]
                if bool(byte & 128) != (at == first):
                    raise Refused("the exception table is marked in the wrong places")
                at += 1
                value = value << 6 | byte & 63
                if not byte & 64:
                    break
            fields.append(value)
        start, size, target, depth = fields
        if start < before or not size:
            raise Refused("the exception table is not in order")
        before = start + size
        yield 2 * start, 2 * before, 2 * target, depth >> 1, bool(depth & 1)


def _row_of(
    rows: "List[Tuple[int, int, int, int, bool]]", offset: int
) -> "Optional[Tuple[int, int, int, int, bool]]":
    """Return the first row that holds an offset, as the interpreter looks for it."""
    for row in rows:
        if row[0] > offset:
            return None
        if row[1] > offset:
            return row
    return None


def key_of(value: Any) -> Any:
    """Return what equal constants have in common: their type and value. Code has no key."""
    kind = type(value)
    if kind is tuple:
        return tuple, tuple(key_of(item) for item in value)
    if kind is frozenset:
        return frozenset, frozenset(key_of(item) for item in value)
    if kind is float:
        return float, struct.pack("<d", value)
    if kind is complex:
        return complex, struct.pack("<dd", value.real, value.imag)
    if kind is slice:
        return slice, key_of(value.start), key_of(value.stop), key_of(value.step)
    if kind in (int, bool, str, bytes, type(None), type(Ellipsis)):
        return kind, value
    raise Refused(f"a constant of type {kind.__name__}")


def docstring_of(code: types.CodeType) -> Optional[str]:
    """Return what `__doc__` of a function with this code is."""
    first = code.co_consts[0] if code.co_consts else None
    if VERSION >= (3, 14) and not code.co_flags & _HAS_DOCSTRING:
        return None
    return first if isinstance(first, str) else None


_COUNTS = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags")
_HEADER = ("co_name", "co_qualname", *_COUNTS, "co_varnames", "co_cellvars", "co_freevars")


def check_headers(a: types.CodeType, b: types.CodeType) -> None:
    """Raise Refused if callers of the two could see a difference."""
    for field in _HEADER:
        if getattr(a, field) != getattr(b, field):
            raise Refused(f"{field}: {getattr(a, field)!r} / {getattr(b, field)!r}")
    if docstring_of(a) != docstring_of(b):
        raise Refused("the docstrings differ")
    names = a.co_varnames + a.co_freevars
    if len({*names}) != len(names) or {*a.co_cellvars} & {*a.co_freevars}:
        raise Refused("two variables have one name")


def same_bytes(a: types.CodeType, b: types.CodeType) -> "Optional[List[Tuple[Any, Any]]]":
    """Return the pairs of nested code if the two are the same instructions on the same values."""
    if (a.co_code, a.co_exceptiontable, a.co_names) != (b.co_code, b.co_exceptiontable, b.co_names):
        return None
    if a.co_stacksize < b.co_stacksize or len(a.co_consts) != len(b.co_consts):
        return None
    nested = []
    for x, y in zip(a.co_consts, b.co_consts):
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
            nested.append((x, y))
        elif types.CodeType in (type(x), type(y)) or key_of(x) != key_of(y):
            return None
    return nested
