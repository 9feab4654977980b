# SPDX-License-Identifier: Apache-2.0
"""The guards that a filter drops, read while torch builds the remaining ones."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any, NamedTuple

from pellucid.dump.model.events import Place
from pellucid.dump.model.failures import innermost
from pellucid.dump.model.names import as_written, scrub
from pellucid.dump.model.traced import GUARDS_OF_VALUES

from .shapes import FILTERS_OF_GUARDS, GUARDS_MADE

_OF_TORCH_ITSELF = "torch._dynamo"
_SAVING = {
    "torch._dynamo.aot_compile": "aot_compile",
    "torch._dynamo.guards": "caching_precompile",
}
"""The features whose filter drops guards that cannot be saved."""
_ON_TORCH = re.compile(r"G\['(?:torch\b|__import_torch_|__builtins_dict__)")


class Filtered(NamedTuple):
    """The effect of one filter on the guards of a version."""

    name: str
    """The name of the filter; for one of torch's, the feature that uses it."""
    dropped: tuple[tuple[str, str], ...]
    """The kind of each dropped guard, and the value that it checks."""
    number: int
    """The number of guards before filtering."""
    place: Place | None
    """The line that caused the first dropped guard on a value."""


def filtered_guards() -> Filtered | None:
    """Return the guards dropped from the version whose guards torch is building."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(25):
        if frame is None:
            return None
        local = frame.f_locals if frame.f_code.co_name == "__init__" else {}
        if type(local.get("self")).__name__ == GUARDS_MADE[0]:
            return _filtered(local)
        frame = frame.f_back
    return None


def _filtered(local: dict[str, Any]) -> Filtered | None:
    kept, before = (local.get(name) for name in GUARDS_MADE[1:])
    # torch may wrap the program's filter in its own.
    given = next((local[name] for name in FILTERS_OF_GUARDS if local.get(name) is not None), None)
    module = str(getattr(given, "__module__", ""))
    saving = _SAVING.get(module, "")
    if given is None or kept is None or before is None:
        return None
    if module.startswith(_OF_TORCH_ITSELF) and not saving:
        return None
    left = {id(guard) for guard in kept}
    every = list(before)
    gone = sorted(
        (g for g in every if id(g) not in left and not (saving and _is_on_torch(g))),
        key=lambda guard: (_kind(guard) not in GUARDS_OF_VALUES, str(guard.name)),
    )
    told = tuple((_kind(guard), scrub(as_written(str(guard.name)))) for guard in gone)
    name = str(getattr(given, "__qualname__", type(given).__name__)).rpartition("<locals>.")[2]
    name = saving or name
    return Filtered(name, told, len(every), _place(gone[0]) if gone else None) if gone else None


def _is_on_torch(guard: Any) -> bool:
    """Return true if a guard is on torch itself, which never changes, or has no name."""
    return not guard.name or _ON_TORCH.match(str(guard.name)) is not None


def _kind(guard: Any) -> str:
    return str(guard.create_fn_name())


def _place(guard: Any) -> Place | None:
    calls = getattr(guard, "user_stack", None) or ()
    return innermost([Place(c.filename, int(c.lineno or 0), c.name) for c in calls])
