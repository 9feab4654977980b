# SPDX-License-Identifier: Apache-2.0
"""The cause of a difference that disappears in a fresh compile."""

from __future__ import annotations

from typing import Any

from pellucid.dump.model.differences import OWN

from ..taps import calls, graph_hooks
from ..taps.calls import Call
from .search import Search

_RESET = "call `torch.compiler.reset()` after the change"
_FILTERED = (
    "A version compiled for different values ran. No guard failed, because `guard_filter_fn` drops "
    "guards of this function.",
    f"Keep the guards on what changes between calls, or {_RESET}.",
)
_STALE = (
    "A version compiled earlier ran. It depends on something that has changed since, and PyTorch "
    "has no guard on that.",
    f"Pass what changes as an argument, or {_RESET}.",
)
_CACHED = (
    "PyTorch took compiled code from its cache on disk that belongs to something else. The same "
    "compile without that cache agrees with eager.",
    "Set TORCHINDUCTOR_FORCE_DISABLE_CACHES=1, or delete the directory TORCHINDUCTOR_CACHE_DIR.",
)
_AHEAD = (
    "The function was compiled ahead of time, for different values than it is called with now.",
    "Recompile it after the change.",
)
_OWN_SETTINGS = (
    "Its own backend and options compute a different result. Inductor's stages, with the default "
    "options, agree with eager.",
    "Compile it with the default backend, or without its options one by one, to find what matters.",
)
_UNKNOWN = ("A fresh compile of the function agrees with eager.", f"To recompile it, {_RESET}.")


def cause_of(call: Call, search: Search) -> tuple[str, str]:
    """Recompile a call in two ways; return the cause and the remedy, in words."""
    if call.way == calls.AHEAD:
        return _AHEAD
    backend = call.backend
    if backend is None:
        return _UNKNOWN
    if _agrees(search, backend):
        return _FILTERED if call.filters_guards else _STALE
    with calls.without_caches():
        agrees = _agrees(search, backend)
    return _CACHED if agrees else _OWN_SETTINGS


def is_of_compile(cause: str) -> bool:
    """Return true if another compile of the same values may be right: a stage of it is wrong."""
    return cause in ("", _OWN_SETTINGS[0])


def _agrees(search: Search, backend: Any) -> bool:
    """Return true if a fresh compile by the program's own backend agrees with eager."""

    def anew(graph: Any, inputs: Any) -> Any:
        return backend(graph, inputs)

    with graph_hooks.every_compile_by(anew) as forced:
        outcome = search.stages.run(OWN)
    if not forced or outcome.error is not None:
        return False
    return not search.parted(outcome) and not search.changes(outcome)
