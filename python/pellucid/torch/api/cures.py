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
from .as_it_runs import DRAWN
from .closeness import Tolerance
from .program_state import ProgramState
from .seen import run
from .smallest import smallest_graph, temporary_capture
from .stages import CAPTURED, PROGRAM, STAGES
from .stale import is_of_compile

_CALLS = 5
Program = Tuple[Callable[..., Any], Tuple[Any, ...], Mapping[str, Any]]
"""A function and its arguments."""
Search = Callable[..., Difference]
"""Searches in a session up to a stage: ``search(session, function, args, kwargs, stage)``."""


def cure_of(found: Difference, search: Search, program: Program, tolerance: Tolerance) -> Cure:
    """Try the changes that torch offers, one by one, until the search finds no difference.

    If none helps, look for the smallest graph that differs.
    """
    if _agrees(_searched(search, program, ""), found):
        return Cure("", 0, agrees_afresh=True)
    if found.stage == CAPTURED:
        return Cure("", 0, untried="all of them apply after Dynamo, whose graph already differs")
    if not is_of_compile(found.cause):
        return Cure("", 0, untried="the compiled code is right, but not for this call")
    tried = 0
    known = pending = changes.statements(_operations(found))
    while pending:
        statement, *pending = pending
        tried += 1
        now = _searched(search, program, statement)
        if _agrees(now, found):
            after = _seconds(found, program, statement)
            if after is not None:
                return Cure(statement, tried, _seconds(found, program, "") or 0.0, after)
        elif now is not None:
            # A change can uncover the operation that is wrong, before the one that was named.
            new = [one for one in changes.statements(_operations(now)) if one not in known]
            known, pending = known + new, new + pending
    smallest = None
    if found.stage != OWN:  # a graph, which compiled code computes differently

        def differs(graph: Any, inputs: tuple[Any, ...]) -> bool:
            later = _searched(search, (graph, inputs, {}), "", found.stage)
            return later is not None and later.stage not in ("", CAPTURED)

        smallest = smallest_graph(Path(found.directory), differs, tolerance, program)
    return Cure("", tried, smallest=smallest)


def _operations(found: Difference) -> list[str]:
    """Return the operation that differs, as each stage names it."""
    sides = (found.before, found.after)
    named = [found.operation, *(side.operation for side in sides if side is not None)]
    return [name for name in named if name]


def _agrees(found: Difference | None, known: Difference) -> bool:
    """Return true if nothing differs after a change, and all was compared that was before."""
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
    """Return true if a search has compared what the first one compared.

    The first one ended with the call that differs; later calls may be compared now.
    """
    before, now = ({(c.name, c.way): c.calls for c in one.compiled} for one in (known, found))
    calls = all(now.get(name, 0) >= made for name, made in before.items())
    backward = found.backward or not known.backward
    # A call of a program's own compiled code that agrees is not compiled stage by stage.
    whole = OWN in (known.stage, *found.stages) or STAGES.index(known.stage) < len(found.stages)
    unseen = {line for line in found.unseen if known.stage == OWN or not line.startswith(DRAWN)}
    return calls and backward and whole and found.graphs > 0 and unseen <= set(known.unseen)


def _seconds(found: Difference, program: Program, statement: str) -> float | None:
    """Return the time of a call after its compile, the median of a few; None if it raises.

    If a graph already agrees that Inductor then refuses, the search finds no difference.
    """
    torch.compiler.reset()
    function, args, kwargs = program
    state, times = ProgramState(*program), []
    # The function itself is compiled if the program compiles nothing.
    called = torch.compile(function) if found.compiled_here else function
    try:
        with changes.applied(statement):
            run(called, args, kwargs)
            for _ in range(_CALLS):
                state.restore()
                begin = time.perf_counter()
                run(called, args, kwargs)
                times.append(time.perf_counter() - begin)
    except Exception:  # of the compiler
        return None
    finally:
        state.restore()
        torch.compiler.reset()
    return statistics.median(times)
