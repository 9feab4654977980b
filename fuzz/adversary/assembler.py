# SPDX-License-Identifier: Apache-2.0
"""The instructions of a code object apart and together again, jumps and exception table included.

It runs under the Python whose code it takes apart, 3.8 to 3.15.
"""

import dis
import opcode
import sys
from types import CodeType
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

VERSION = sys.version_info[:2]
EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
_CACHES: Any = getattr(opcode, "_inline_cache_entries", {})
_RELATIVE, _ABSOLUTE = frozenset(dis.hasjrel), frozenset(dis.hasjabs)
_UNIT = 1 if VERSION < (3, 10) else 2  # bytes that a jump's argument counts


def caches_of(op: int) -> int:
    """Return how many units of cache follow an opcode."""
    if hasattr(_CACHES, "get"):  # by name, since 3.13
        return int(_CACHES.get(dis.opname[op], 0))
    return int(_CACHES[op]) if op < len(_CACHES) else 0


class Instr:
    """One instruction; `target` is the one that a jump leads to, `extra` its needless prefixes."""

    def __init__(self, op: int, arg: int, target: "Optional[Instr]" = None) -> None:
        self.op = op
        self.arg = arg
        self.target = target
        self.extra = 0

    def copy(self) -> "Instr":
        """Return another of the same kind."""
        return Instr(self.op, self.arg, self.target)


class Entry(NamedTuple):
    """One entry of an exception table; `end` is None at the end of the code."""

    begin: Instr
    end: Optional[Instr]
    target: Instr
    depth: int
    lasti: int


class Parts(NamedTuple):
    """What a code object does."""

    instrs: List[Instr]
    entries: List[Entry]


def take_apart(code: CodeType) -> Parts:
    """Return instructions and exception table; jumps that lead nowhere keep their argument."""
    data = code.co_code
    instrs: List[Instr] = []
    at: Dict[int, Instr] = {}
    ends: List[int] = []
    start, arg, i = 0, 0, 0
    while i + 1 < len(data):
        op, arg = data[i], arg << 8 | data[i + 1]
        i += 2
        if op == EXTENDED_ARG:
            continue
        i += 2 * caches_of(op)
        instr = Instr(op, arg)
        at[start] = instr
        instrs.append(instr)
        ends.append(i)
        start, arg = i, 0
    for instr, end in zip(instrs, ends):
        instr.target = at.get(_leads_to(instr, end))
    entries = []
    for begin, stop, target, depth, lasti in _read_table(code):
        if begin in at and target in at:
            entries.append(Entry(at[begin], at.get(stop), at[target], depth, lasti))
    return Parts(instrs, entries)


def put_together(code: CodeType, parts: Parts) -> CodeType:
    """Return the code object with these instructions and this exception table."""
    sizes = [1 + caches_of(instr.op) + instr.extra for instr in parts.instrs]
    while True:
        starts, at = {}, 0
        for instr, size in zip(parts.instrs, sizes):
            starts[id(instr)] = at
            at += 2 * size
        out = bytearray()
        is_settled = True
        for i, instr in enumerate(parts.instrs):
            here = starts[id(instr)] + 2 * sizes[i]
            arg = instr.arg
            if instr.target is not None and id(instr.target) in starts:
                arg = _argument(instr, here, starts[id(instr.target)])
            arg = max(0, min(arg, 0x7FFFFFFF))
            wanted = max(1, (arg.bit_length() + 7) // 8) + caches_of(instr.op)
            if wanted > sizes[i]:
                sizes[i] = wanted
                is_settled = False
            prefixes = sizes[i] - caches_of(instr.op) - 1
            for k in range(prefixes, 0, -1):
                out += bytes((EXTENDED_ARG, arg >> 8 * k & 255))
            out += bytes((instr.op, arg & 255)) + bytes(2 * caches_of(instr.op))
        if is_settled:
            break
    changed: Dict[str, Any] = {"co_code": bytes(out)}
    if VERSION >= (3, 11):
        changed["co_exceptiontable"] = _written(parts.entries, starts, len(out))
    return code.replace(**changed)


def _leads_to(instr: Instr, end: int) -> int:
    if instr.op in _ABSOLUTE:
        return instr.arg * _UNIT
    if instr.op in _RELATIVE:
        back = "BACKWARD" in dis.opname[instr.op]
        if dis.opname[instr.op] == "END_ASYNC_FOR":
            back = True
        return end + (-instr.arg if back else instr.arg) * _UNIT
    return -1


def _argument(instr: Instr, end: int, target: int) -> int:
    if instr.op in _ABSOLUTE:
        return target // _UNIT
    if instr.op not in _RELATIVE:
        return instr.arg
    back = "BACKWARD" in dis.opname[instr.op] or dis.opname[instr.op] == "END_ASYNC_FOR"
    return (end - target if back else target - end) // _UNIT


def _read_table(code: CodeType) -> List[Tuple[int, int, int, int, int]]:
    data = getattr(code, "co_exceptiontable", b"")
    numbers: List[int] = []
    value = 0
    for byte in data:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    rows = []
    for i in range(0, len(numbers) - 3, 4):
        begin, length, target, depth = numbers[i : i + 4]
        rows.append((2 * begin, 2 * (begin + length), 2 * target, depth >> 1, depth & 1))
    return rows


def _written(entries: List[Entry], starts: Dict[int, int], size: int) -> bytes:
    out = bytearray()
    for entry in entries:
        begin = starts.get(id(entry.begin))
        end = size if entry.end is None else starts.get(id(entry.end))
        target = starts.get(id(entry.target))
        if begin is None or end is None or target is None:
            continue
        row = (begin // 2, max(0, end - begin) // 2, target // 2, entry.depth << 1 | entry.lasti)
        for which, number in enumerate(row):
            digits = [number & 63]
            while number > 63:
                number >>= 6
                digits.append(number & 63)
            digits.reverse()
            for k, digit in enumerate(digits):
                first = 128 if which == 0 and k == 0 else 0
                out.append(digit | first | (64 if k + 1 < len(digits) else 0))
    return bytes(out)
