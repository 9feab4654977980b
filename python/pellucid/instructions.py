# SPDX-License-Identifier: Apache-2.0
"""Read the instructions of a code object, and patch those that a compiler would not generate.

A patched instruction keeps its size: unused bytes are filled with NOP, so jumps and tables stay
valid.
"""

import dis
import opcode
import sys
from types import CodeType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from pellucid.errors import CannotStandIn


class Unit(NamedTuple):
    """An instruction and its position in `co_code`."""

    start: int  # of the first EXTENDED_ARG
    at: int  # of the opcode
    op: int
    arg: int
    caches: int


def _cache_entries(op: int) -> int:
    entries: Any = getattr(opcode, "_inline_cache_entries", None)
    if entries is None:
        return 0
    if isinstance(entries, (list, tuple)):  # up to 3.12, by number
        return int(entries[op])
    return int(entries.get(dis.opname[op], 0))  # a frozendict in 3.15


_CACHES = [_cache_entries(op) for op in range(256)]


def units_of(code: Sequence[int]) -> Iterator[Unit]:
    """Yield the instructions of `co_code`, each with its full argument."""
    start = at = arg = 0
    while at < len(code):
        op = code[at]
        arg = arg << 8 | code[at + 1]
        if op == dis.EXTENDED_ARG:
            at += 2
            continue
        caches = _CACHES[op]
        yield Unit(start, at, op, arg, caches)
        at += 2 + 2 * caches
        start, arg = at, 0


def _put(code: bytearray, start: int, end: int, instructions: Sequence[Tuple[str, int]]) -> None:
    """Write instructions over the bytes from `start` to `end`, padded with NOP."""
    made = bytearray()
    for name, arg in instructions:
        for shift in (24, 16, 8):
            if arg >> shift:
                made += bytes([dis.EXTENDED_ARG, arg >> shift & 0xFF])
        made += bytes([dis.opmap[name], arg & 0xFF])
    room = end - start - len(made)
    if room < 0:
        raise CannotStandIn("an instruction that must change has no room for its new argument")
    code[start:end] = bytes([dis.opmap["NOP"], 0]) * (room // 2) + made


# One-slot instructions that can refer to a free variable.
_SLOT_OPS = frozenset(
    op
    for op in {*dis.hasfree, *dis.haslocal}
    if dis.opname[op].count("_FAST") <= 1 and "__" not in dis.opname[op]
)


def with_slots_in_order(code: CodeType, original: CodeType) -> CodeType:
    """Permute cells and free variables to the original's order.

    The compiler sorts them by name, but closures are passed by position, and Dynamo requires its
    own order of cells too.
    """
    cells, free = original.co_cellvars, original.co_freevars
    if (code.co_cellvars, code.co_freevars) == (cells, free):
        return code
    if sorted(code.co_freevars) != sorted(free):
        raise CannotStandIn(f"co_freevars is {code.co_freevars} instead of {free}")
    if sorted(code.co_cellvars) != sorted(cells):
        raise CannotStandIn(f"co_cellvars is {code.co_cellvars} instead of {cells}")
    if sys.version_info >= (3, 11):
        # Cells and free variables follow the locals; a cell that is an argument is a local.
        ops, base = _SLOT_OPS, len(code.co_varnames)
        have = [name for name in code.co_cellvars if name not in code.co_varnames]
        want = [name for name in cells if name not in code.co_varnames]
    else:
        ops, base = frozenset(dis.hasfree), 0
        have, want = list(code.co_cellvars), list(cells)
    have += code.co_freevars
    want += free
    changed = bytearray(code.co_code)
    for unit in list(units_of(code.co_code)):
        if unit.op in ops and unit.arg >= base:
            moved = base + want.index(have[unit.arg - base])
            if moved != unit.arg:
                _put(changed, unit.start, unit.at + 2, [(dis.opname[unit.op], moved)])
    return code.replace(co_code=bytes(changed), co_cellvars=cells, co_freevars=free)


def bind_constants(code: CodeType, constants: Dict[str, Any]) -> CodeType:
    """Turn loads of opaque constants' global names back into constants."""
    consts: List[Any] = [
        bind_constants(const, constants) if isinstance(const, CodeType) else const
        for const in code.co_consts
    ]
    places: Dict[str, int] = {}

    def constant(name: str) -> Optional[Tuple[str, int]]:
        if name not in constants:
            return None
        if name not in places:
            places[name] = len(consts)
            consts.append(constants[name])
        return "LOAD_CONST", places[name]

    changed = _with_other_loads(code, constant)
    return changed.replace(co_consts=tuple(consts))


# The values that LOAD_COMMON_CONSTANT of 3.14 and later loads: its argument, by name.
_COMMON_CONSTANTS: Dict[str, int] = {
    value.__name__: arg
    for arg, value in enumerate(getattr(opcode, "_common_constants", ()))
    if hasattr(value, "__name__")
}


def load_common_constants(code: CodeType, original: CodeType) -> CodeType:
    """Load built-ins with LOAD_COMMON_CONSTANT if the original does.

    A compiler loads `NotImplementedError` that way in a function for annotations, and
    `AssertionError` for an `assert`. In source they have names, which the original does not use.
    """
    common = [unit.arg for unit in units_of(original.co_code) if unit.op == _LOAD_COMMON_CONSTANT]

    def constant(name: str) -> Optional[Tuple[str, int]]:
        arg = _COMMON_CONSTANTS.get(name)
        if arg not in common or name in original.co_names:
            return None
        return "LOAD_COMMON_CONSTANT", arg

    return _with_other_loads(code, constant) if common else code


_LOAD_COMMON_CONSTANT = dis.opmap.get("LOAD_COMMON_CONSTANT")


def _with_other_loads(
    code: CodeType, instead: Callable[[str], Optional[Tuple[str, int]]]
) -> CodeType:
    """Replace loads of global names by the instructions that `instead` returns."""
    changed = bytearray(code.co_code)
    for unit in list(units_of(code.co_code)):
        name = _global_name(code, unit)
        instruction = None if name is None else instead(name)
        if instruction is None:
            continue
        load = [instruction]
        if _pushes_null(unit):
            # In 3.13, the callable is below the NULL; in earlier versions, above it.
            at = 1 if sys.version_info >= (3, 13) else 0
            load.insert(at, ("PUSH_NULL", 0))
        end = unit.at + 2 + 2 * unit.caches
        _put(changed, unit.start, end, load)
    return code.replace(co_code=bytes(changed))


def _global_name(code: CodeType, unit: Unit) -> Optional[str]:
    kind = dis.opname[unit.op]
    if kind not in ("LOAD_GLOBAL", "LOAD_NAME"):
        return None
    shift = 1 if kind == "LOAD_GLOBAL" and sys.version_info >= (3, 11) else 0
    index = unit.arg >> shift
    return code.co_names[index] if index < len(code.co_names) else None


def _pushes_null(unit: Unit) -> bool:
    return (
        sys.version_info >= (3, 11) and dis.opname[unit.op] == "LOAD_GLOBAL" and bool(unit.arg & 1)
    )
