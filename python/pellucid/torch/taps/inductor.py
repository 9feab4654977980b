# SPDX-License-Identifier: Apache-2.0
"""The nodes that each buffer of an Inductor program is computed from, while Inductor writes it.

They are read from the frames that lead to the program's trace event.  A program from a cache has no
such frames; then its comments are the only source.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Iterator, Mapping, NamedTuple

from .shapes import LOWERING, SHAPES, TABLES_OF_SCHEDULER


class Origin(NamedTuple):
    """The operations that one part of a program computes together."""

    part: str
    nodes: tuple[str, ...]
    """Nodes of the graph from which the program is generated."""
    own: str = ""
    """The node whose value the buffer holds, if Inductor records it."""


def origins_of_buffers() -> Mapping[str, Origin]:
    """Return the origin of each buffer of the program whose event is being handled."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(25):
        if frame is None:
            break
        found = frame.f_locals.get("self")
        if type(found).__name__ == LOWERING[0] and type(found).__module__ == LOWERING[1]:
            return dict(_origins(found))
        frame = frame.f_back
    return {}


def _origins(lowering: Any) -> Iterator[tuple[str, Origin]]:
    scheduler = getattr(lowering, "scheduler", None)
    # Before torch 2.5, a buffer and the operation that computes it were the same.
    tables = [getattr(scheduler, name, None) for name in TABLES_OF_SCHEDULER]
    buffers, fused = tables[0] if tables[0] is not None else tables[1], tables[2]
    if not isinstance(buffers, dict) or not isinstance(fused, dict):
        SHAPES.missed("origins of a program's buffers")
        return
    of_part: dict[str, Origin] = {}
    for name, buffer in buffers.items():
        operation: Any = getattr(buffer, "defining_op", None)
        key = operation.get_name() if hasattr(operation, "get_name") else name
        part = fused.get(key, operation)
        if part is None:
            continue
        label = str(part.get_name())
        if label not in of_part:
            of_part[label] = Origin(label, tuple(_nodes(part)))
        yield str(name), of_part[label]._replace(own=_own(buffer))


def _own(buffer: Any) -> str:
    """Return the node whose value a scheduler buffer holds."""
    made = getattr(buffer, "node", None)
    ask = getattr(made, "get_origin_node", None)
    try:
        return "" if ask is None else str(getattr(ask(), "name", "") or "")
    except (AssertionError, AttributeError, NotImplementedError):
        return ""


_NOT_CALLED = ("MultiOutput", "NopKernel")


def _nodes(part: Any) -> Iterator[str]:
    """Yield the operations of one part; none if it generates no call."""
    found: dict[str, None] = {}
    for scheduled in part.get_nodes():
        node = getattr(scheduled, "node", None)
        if type(node).__name__ in _NOT_CALLED:
            continue
        # A library kernel is one operation; its origins include those of its arguments.
        own = getattr(node, "origin_node", None) if _is_extern(scheduled) else None
        for origin in getattr(node, "origins", ()) if own is None else (own,):
            if getattr(origin, "op", "") == "call_function":
                found[str(origin.name)] = None
    return iter(found)


def _is_extern(scheduled: Any) -> bool:
    return bool(getattr(scheduled, "is_extern", bool)())
