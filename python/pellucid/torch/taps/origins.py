# SPDX-License-Identifier: Apache-2.0
"""Recognition of code that Dynamo generated, and its original, from torch's own tables.

Nothing in a code object proves its origin, since any code can have such names.  So the object is
looked up by identity where torch stores it: in the call of a bytecode hook, in torch's tables of
generated code, and in the functions compiled ahead of time.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any

from pellucid.dump.model.dynamo_names import GRAPH
from pellucid.dump.model.names import slug
from pellucid.dump.model.origin import Origin

from . import doors, hooks
from .graph_hooks import frame_being_compiled
from .shapes import COMPILED_CODE, MADE_CODE

_COMPILING = "torch._dynamo.convert_frame"


def origin_of(code: CodeType) -> Origin | None:
    """Return the origin of code that Dynamo generated; None for other code.

    Code that a bytecode hook substituted for Dynamo's counts as well: see :meth:`Origin.made`.
    """
    return _of_hook(code) or _of_tables(code) or _compiled_ahead(code)


def origin_in_hook(original: CodeType) -> Origin:
    """Return the origin of the code that Dynamo is generating from ``original``."""
    scope = frame_being_compiled(original).globals
    return _origin(original, hooks.current_compile_id(), scope)


def origin_of_entry(original: CodeType, entry: hooks.RawEntry) -> Origin:
    """Return the origin of the code in one of torch's cache entries."""
    held = getattr(entry.guard_manager, "global_scope", None)
    scope = held.get("G") if isinstance(held, dict) else None
    return _origin(original, entry.compile_id, scope)


def runs(value: Any) -> Any:
    """Return the function inside one compiled ahead of time; other values unchanged."""
    return doors.compiled_ahead(value) or value


def _origin(original: CodeType, compile_id: str | None, scope: Any) -> Origin:
    return Origin(
        original,
        "" if compile_id is None else slug(compile_id),
        hooks.resume_parameters(original),
        scope if isinstance(scope, dict) else {},
    )


def _of_hook(code: CodeType) -> Origin | None:
    """Return the origin of code in a bytecode hook's call, before any table has it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == _COMPILING and frame.f_locals.get(MADE_CODE) is code:
            original = frame.f_locals.get(COMPILED_CODE)
            return origin_in_hook(original) if isinstance(original, CodeType) else None
        frame = frame.f_back
    return None


def _of_tables(code: CodeType) -> Origin | None:
    resumed, made = hooks.PROBE.get("resumed_code"), hooks.PROBE.get("compiled_before")
    if resumed is not None and code in resumed:
        return _origin(code, None, None)
    original = None if made is None else made.get(code)
    if not isinstance(original, CodeType):
        return None
    entries = [entry for entry in hooks.cache_entries(original) if entry.code is code]
    return origin_of_entry(original, entries[0]) if entries else _origin(original, None, None)


def _compiled_ahead(code: CodeType) -> Origin | None:
    if not any(map(GRAPH.match, code.co_names)):
        return None  # the search below covers all objects
    found = (arrival for arrival in doors.all_ahead() if arrival.code is code)
    arrival = next(found, None)
    return arrival and _origin(arrival.original, None, arrival.state.globals)
