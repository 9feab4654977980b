# SPDX-License-Identifier: Apache-2.0
"""The smallest change under which compiled code and eager agree, and what it costs.

Each change is tried by the same search that found the difference, in a fresh compile.  A change is
a cure only if that search then finds no difference.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any, Callable, Mapping, Tuple

import torch

from pellucid.dump.model.differences import OWN, Cure, Difference

from ..taps import changes
from .closeness import Tolerance
from .program_state import ProgramState
from .smallest import smallest_graph, temporary_capture
from .stages import CAPTURED, PROGRAM, STAGES

_CALLS = 5
Program = Tuple[Callable[..., Any], Tuple[Any, ...], Mapping[str, Any]]
"""A function and its arguments."""
Search = Callable[..., Difference]
"""Searches in a session up to a stage: ``search(session, function, args, kwargs, stage)``."""


def cure_of(found: Difference, search: Search, program: Program, tolerance: Tolerance) -> Cure:
    """Try the changes that torch offers, one by one, until the search finds no difference.

    If none helps, look for the smallest graph that differs.
    """
    sides = (found.before, found.after)
    operations = [found.operation, *(side.operation for side in sides if side is not None)]
    if _agrees(search, program, "", found):
        return Cure("", 0, agrees_afresh=True)
    tried = 0
    for statement in changes.statements(filter(None, operations)):
        tried += 1
        if _agrees(search, program, statement, found):
            call = _call(found, *program)
            return Cure(statement, tried, _seconds(call, ""), _seconds(call, statement))
    smallest = None
    if found.stage not in (OWN, CAPTURED):  # a graph, which compiled code computes differently

        def differs(graph: Any, inputs: tuple[Any, ...]) -> bool:
            later = _searched(search, (graph, inputs, {}), "", found.stage)
            return later is not None and later.stage not in ("", CAPTURED)

        smallest = smallest_graph(Path(found.directory), differs, tolerance, program)
    return Cure("", tried, smallest=smallest)


def _agrees(search: Search, program: Program, statement: str, known: Difference) -> bool:
    """Return true if nothing differs after a change, and all was compared that was before."""
    found = _searched(search, program, statement)
    return found is not None and not found and _has_looked(found, known)


def _searched(
    search: Search, program: Program, statement: str, until: str = PROGRAM
) -> Difference | None:
    """Search in a fresh compile after a change; None if the change does not work here."""
    torch.compiler.reset()
    try:
        with changes.applied(statement), temporary_capture() as session:
            return search(session, *program, until)
    except Exception:  # of the compiler
        return None
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
