# SPDX-License-Identifier: Apache-2.0
"""The guards of a function as a table: a row a guard, a column a compiled version."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Sequence, Tuple

from pellucid.dump.model.events import CacheEntry, Guard, GuardFailure, Recompile
from pellucid.dump.model.failures import failures_of

GROUP_ABOVE = 5000
"""With more rows than this, equal rows of one owner become one."""

_TENSORS = ("size", "stride", "dtype", "device", "requires_grad", "dispatch key set", "rank")
_PART = re.compile(r"\.(?:size|stride)\(\d*\)$")


@dataclass
class Row:
    """One guard in the versions that have it."""

    source: str
    kind: str
    where: str
    """torch's words for the user's line."""
    cells: List[str | None]
    """What each version expects; None where it has no such guard."""
    guards: List[Guard | None]
    failed: Dict[int, str] = field(default_factory=dict)
    """The value that failed it, by column."""
    count: int = 1
    """For how many equal guards the row stands."""

    @property
    def differs(self) -> bool:
        """Whether the versions do not all expect the same."""
        return any(cell != self.cells[0] for cell in self.cells)


def rows_of(entries: Sequence[CacheEntry], recompiles: Sequence[Recompile]) -> List[Row]:
    """Return the rows of a function's guards: failed ones, differing ones, then the others."""
    rows: Dict[Tuple[str, str, int], Row] = {}
    for column, entry in enumerate(entries):
        met: Dict[Tuple[str, str], int] = {}
        for guard in entry.guards:
            named = (_value(guard), guard.kind)
            number = met[named] = met.get(named, -1) + 1
            row = rows.get((*named, number))
            if row is None:
                width = len(entries)
                row = Row(guard.source, guard.kind, guard.user_line, [None] * width, [None] * width)
                rows[(*named, number)] = row
            row.cells[column] = expected(guard)
            row.guards[column] = guard
            row.where = row.where or guard.user_line
    found = list(rows.values())
    _mark_failed(found, entries, recompiles)
    found.sort(key=lambda row: (not row.failed, not row.differs))
    return _grouped(found) if len(found) > GROUP_ABOVE else found


def _value(guard: Guard) -> str:
    """Return what names a guard's value in every version; a guard of no value goes by its text."""
    if not guard.source:
        return guard.text if guard.kind in ("LAMBDA_GUARD", "SHAPE_ENV") else ""
    return re.sub(r"__builtins_dict___\d+", "__builtins_dict__", guard.source)


def expected(guard: Guard) -> str:
    """Return what a guard wants of its value, in few words.

    >>> expected(Guard("EQUALS_MATCH", "", "", "EQUALS_MATCH(heads, 4)", "L['heads']"))
    '4'
    """
    call = guard.expression or ""
    try:
        tree: Any = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _plain(guard)
    if not isinstance(tree, ast.Call):
        return _plain(guard)
    if guard.kind == "TENSOR_MATCH" and tree.keywords:
        given = {word.arg: ast.get_source_segment(call, word.value) or "" for word in tree.keywords}
        dtype = given.get("dtype", "").strip("'").replace("torch.", "")
        parts = [f"{dtype} {given.get('size', '')}".replace("None", "any").strip()]
        if given.get("stride"):
            parts.append(f"stride {given['stride'].replace('None', 'any')}")
        if given.get("requires_grad") == "True":
            parts.append("requires grad")
        if given.get("device") not in (None, "None"):
            parts.append(f"device {given['device']}")
        return ", ".join(parts)
    arguments = [ast.get_source_segment(call, argument) or "" for argument in tree.args]
    if guard.kind == "SHAPE_ENV" or call.startswith("SHAPE_GUARD("):
        return readable(", ".join(arguments))
    if guard.source and arguments:
        arguments = arguments[1:]
    kept = [text for text in arguments if not re.match(r"kept_\w+\[\d+\]$", text)]
    if guard.kind in ("ID_MATCH", "TYPE_MATCH") and kept:
        name = kept[0].strip("'\"")
        return f"the same {name.replace('_', ' ')}" if guard.kind == "ID_MATCH" else f"a {name}"
    if guard.kind == "DICT_CONTAINS" and len(kept) == 2:
        return f"{'has' if kept[1] == 'True' else 'has no'} {kept[0]}"
    if guard.kind == "GLOBAL_STATE":
        return ", ".join(kept).strip("{}").replace("'", "")
    return ", ".join(kept) if kept else _NAMED.get(guard.kind, _plain(guard))


_NAMED = {
    "ID_MATCH": "the same object",
    "TYPE_MATCH": "the same type",
    "NO_TENSOR_ALIASING": "no two are one tensor",
    "DIMENSION_DYNAMIC_MARKING_GUARD": "dimensions marked as they were",
    "DYNAMIC_INDICES": "dimensions marked as they were",
    "TORCH_FUNCTION_MODE_STACK": "the same function modes",
}


def _plain(guard: Guard) -> str:
    return readable(guard.text)


def readable(source: str) -> str:
    """Write a source of torch's as a person would.

    >>> readable("L['self']._modules['qkv']._parameters['bias']"), readable("G['nn'].functional")
    ('self.qkv.bias', 'nn.functional')
    """
    text = re.sub(r"G\['__builtins_dict___\d+'\]\['(\w+)'\]", r"\1", source)
    text = re.sub(r"\b[LG]\['([^']+)'\]", r"\1", text)
    text = re.sub(r"\._(?:modules|parameters|buffers)\['(\w+)'\]", r".\1", text)
    text = re.sub(r"\b__import_(\w+)", lambda m: m[1].replace("_dot_", "."), text)
    return text


def _mark_failed(
    rows: List[Row], entries: Sequence[CacheEntry], recompiles: Sequence[Recompile]
) -> None:
    columns = {str(entry.key): i for i, entry in enumerate(entries)}
    for event in recompiles:
        for failure in event.failures or failures_of(event.key, event.reasons):
            column = columns.get(str(failure.version), -1)
            row = _row_of(rows, column, failure) if column >= 0 else None
            if row is not None:
                row.failed[column] = _came(failure)


def _row_of(rows: List[Row], column: int, failure: GuardFailure) -> Row | None:
    """Return the row of the guard that failed."""
    about = _PART.sub("", failure.source)
    fitting = [
        row
        for row in rows
        if row.guards[column] is not None and about and readable(row.source) == readable(about)
    ]
    tensor = [row for row in fitting if (row.kind == "TENSOR_MATCH") == (failure.kind in _TENSORS)]
    for row in tensor or fitting:
        if row.kind not in ("DIMENSION_DYNAMIC_MARKING_GUARD", "DYNAMIC_INDICES"):
            return row
    for row in rows:
        guard = row.guards[column]
        if guard is not None and failure.text and failure.text in guard.text:
            return row
    return None


def _came(failure: GuardFailure) -> str:
    part = _PART.search(failure.source)
    if not failure.actual:
        return ""
    return f"{part[0][1:]} {failure.actual}" if part else failure.actual


def _grouped(rows: List[Row]) -> List[Row]:
    found: Dict[Any, Row] = {}
    for row in rows:
        owner = re.sub(r"\d+", "#", row.source)
        cells = tuple(re.sub(r"\d+", "#", cell) if cell else cell for cell in row.cells)
        named = (owner, row.kind, cells, tuple(row.failed.items()))
        kept = found.get(named)
        if kept is None or row.failed:
            found[named if kept is None else (*named, len(found))] = row
        else:
            kept.count += 1
    return list(found.values())
