# SPDX-License-Identifier: Apache-2.0
"""The smallest change under which compiled code and eager agree, and what it costs.

Each change is tried by the same search that found the difference, in a fresh compile.  A change is
a cure only if that search then finds no difference.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Mapping

import torch

from pellucid.dump.model.differences import OWN, Cure, Difference

from ..taps import changes
from .prepare import prepare_debug
from .program_state import ProgramState
from .stages import STAGES

_CALLS = 5
Searched = Callable[[Any], Difference]
"""Runs the whole search in a session."""


def cure_of(
    found: Difference,
    search: Searched,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Cure:
    """Try the changes that torch offers, one by one, until the search finds no difference."""
    sides = (found.before, found.after)
    operations = [found.operation, *(side.operation for side in sides if side is not None)]
    if not _agrees(search, "", found):
        tried = 0
        for statement in changes.statements(filter(None, operations)):
            tried += 1
            if _agrees(search, statement, found):
                call = _call(found, function, args, kwargs)
                return Cure(statement, tried, _seconds(call, ""), _seconds(call, statement))
        return Cure("", tried)
    return Cure("", 0, agrees_afresh=True)


def _agrees(search: Searched, statement: str, known: Difference) -> bool:
    """Return true if nothing differs after a change, and all was compared that was before."""
    torch.compiler.reset()
    try:
        with changes.applied(statement), tempfile.TemporaryDirectory() as folder:
            with prepare_debug(Path(folder) / "dump") as session:
                session.warns_when_empty = False
                found = search(session)
            return not found and _has_looked(found, known)
    except Exception:  # of the compiler: the change does not work here
        return False
    finally:
        torch.compiler.reset()


def _has_looked(found: Difference, known: Difference) -> bool:
    """Return true if a search has compared what the first one compared."""
    calls = [(one.name, one.calls) for one in found.compiled]
    same = (found.backward, calls) == (known.backward, [(c.name, c.calls) for c in known.compiled])
    whole = known.stage == OWN or STAGES.index(known.stage) < len(found.stages)
    return same and whole and found.graphs > 0 and set(found.unseen) <= set(known.unseen)


def _call(
    found: Difference,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Callable[[], Any]:
    """Return the call to time: compiled, if the program does not compile it itself."""
    compiled = torch.compile(function) if found.compiled_here else function
    return lambda: compiled(*args, **kwargs)


def _seconds(call: Callable[[], Any], statement: str) -> float:
    """Return the time of a call after its compile: the median of a few."""
    torch.compiler.reset()
    state, times = ProgramState(call, (), {}), []
    try:
        with changes.applied(statement):
            call()
            for _ in range(_CALLS):
                state.restore()
                begin = time.perf_counter()
                call()
                times.append(time.perf_counter() - begin)
    finally:
        state.restore()
        torch.compiler.reset()
    return statistics.median(times)
