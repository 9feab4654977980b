# SPDX-License-Identifier: Apache-2.0
"""Comparison of a program's own compiled code with eager, at each call that the program makes.

The program runs once, unmodified.  After each compiled call, the reachable state is restored to its
value before the call, the original function runs eager, and then the state is set to what the
compiled call left, so that the program continues unaffected.
"""

from __future__ import annotations

import linecache
from dataclasses import replace
from typing import Any

import torch

from pellucid.dump.model.differences import OWN, Difference, Parted, StateChange
from pellucid.dump.model.events import Place
from pellucid.dump.store.session import Session

from ..capture.sources import is_users
from ..taps import calls
from ..taps.calls import Call
from .closeness import Tolerance
from .nan import brief
from .program_state import ProgramState
from .search import Search, worded
from .seen import Seen
from .stages import EAGER, Outcome, Stages, differentiable, named_results
from .stale import cause_of

_MOST_CALLS = 1000
"""The number of calls per function that are compared."""
DRAWN = "caches and guards of "
"""What is not compared if compiled code draws different random numbers."""


class AsItRuns:
    """The compiled calls of one run of a program, and the first call that differs from eager."""

    def __init__(self, session: Session, reference: Any, tolerance: Tolerance) -> None:
        self._session, self._reference, self._tolerance = session, reference, tolerance
        self.seen = Seen(session)
        self._unseen: dict[str, None] = {}
        self._taken_apart: set[Any] = set()
        self._rounding: dict[str, Parted] = {}
        self._stages: dict[str, None] = {}
        self._backward = False
        self._found: Difference | None = None

    def enter(self, call: Call) -> calls.Leave | None:
        """Prepare for a call before it runs; return a callback for its result."""
        count, function = self.seen.enter(call), self.seen.function(call)
        if self._found is not None or function.calls > _MOST_CALLS:
            function.passed_by += 1
            return count
        state, number = ProgramState(call.plain, call.args, call.kwargs), function.calls

        def leave(result: Any) -> None:
            count(result)
            if not call.is_compiled:
                return
            function.compared += 1
            after = state.now()
            with calls.versions_kept([kept.tensor for kept in after.tensors]):
                try:
                    self._compare(call, number, state, result)
                finally:
                    after.restore()

        return leave

    # -- one call --

    def _compare(self, call: Call, number: int, state: ProgramState, result: Any) -> None:
        own = Outcome(OWN, dict(named_results(result)), state.image())
        function = call.again if call.way == calls.JIT else call.plain
        stages = Stages(self._session, function, call.args, call.kwargs, state, call.again)
        search = Search(self._session, stages, self._reference, self._tolerance)
        try:
            search.eager = search.run_stage(EAGER)
        except Exception as error:
            self._unseen[f"`{call.name}`, call {number}: eager raises {brief(error)}"] = None
            return
        if differentiable(result):
            self._gradients(call, stages, search.eager, own)
        parted, changes = search.parted(own), search.changes(own)
        draws = search.eager.draws and bool(search.rounding)
        if not draws:  # nothing is known of the rounding of random numbers
            self._rounding.update((part.name, part) for part in search.rounding)
        self._stages.update(dict.fromkeys((EAGER, OWN)))
        self._backward |= own.backward
        if parted or changes or draws:
            self._search(call, number, search, parted, changes)

    def _gradients(self, call: Call, stages: Stages, eager: Outcome, own: Outcome) -> None:
        """Repeat the call to compute gradients: the program's own backward pass has not run yet."""
        again = Outcome(OWN, {}, {})
        why = _not_again(call)
        if not why:
            again = stages.run(OWN)
            why = "" if again.error is None else brief(again.error)
        if why:
            self._unseen[f"gradients of `{call.name}`: {why}"] = None
            eager.results = {n: v for n, v in eager.results.items() if not _is_gradient(n)}
            return
        own.backward = again.backward
        own.results.update({n: v for n, v in again.results.items() if _is_gradient(n)})

    def _search(
        self,
        call: Call,
        number: int,
        search: Search,
        parted: list[Parted],
        changes: list[StateChange],
    ) -> None:
        draws = search.eager.draws and not changes
        if draws and (call.name, call.graphs) in self._taken_apart:
            return
        self._taken_apart.add((call.name, call.graphs))
        found: Difference | None = None
        try:
            found, staged = search.staged()
            if found is not None or staged:
                found = search.told(found, staged)
        except Exception as error:
            self._unseen[f"stages of `{call.name}`: compiling it raises {brief(error)}"] = None
        self._stages.update(dict.fromkeys(search.run_stages))
        if found is None and draws:
            self._unseen[
                f"{DRAWN}`{call.name}`: compiled code draws different random numbers "
                "from eager, so only its stages were compared, with eager's numbers; to draw "
                "eager's, set torch._inductor.config.fallback_random = True before the first "
                "compile"
            ] = None
            return
        if found is None:
            found = self._stale(call, search, parted, changes)
        place, code = _line(call)
        self._found = replace(
            found,
            function=call.name,
            call=number,
            called=place,
            called_code=code,
            place=found.place or place,
            code=found.code if found.place is not None else code,
        )

    def _stale(
        self, call: Call, search: Search, parted: list[Parted], changes: list[StateChange]
    ) -> Difference:
        """Report that the program's own code differs although a fresh compile does not."""
        cause, remedy = cause_of(call, search)
        agreeing = [stage for stage in search.run_stages if stage != OWN]
        return Difference(
            stage=OWN,
            previous=agreeing[-1],
            results=tuple(parted),
            state=tuple(changes),
            cause=cause,
            remedy=remedy,
        )

    # -- the report --

    def report(self) -> Difference:
        """Return the difference, and what was compared and what was not."""
        found = self._found or Difference()
        stages = [*self._stages, *(s for s in found.stages if s not in self._stages)]
        return replace(
            found,
            stages=tuple(stages),
            graphs=len(self.seen.graphs),
            backward=self._backward,
            directory=str(self._session.directory),
            tolerance=worded(self._tolerance),
            within_rounding=tuple(self._rounding.values()),
            compiled=self.seen.compiled(compared=True),
            unseen=tuple(self._not_looked_at()),
        )

    def _not_looked_at(self) -> list[str]:
        why = "after the first difference" if self._found else f"beyond the first {_MOST_CALLS:,}"
        more = [
            f"`{f.name}`: {f.passed_by} of {f.calls} calls, {why}"
            for f in self.seen.functions.values()
            if f.passed_by
        ]
        return [*self._unseen, *more, *self.seen.ran_eager()]


def _line(call: Call) -> tuple[Place | None, str]:
    """Return the user's line that makes a call."""
    place = next((place for place in call.callers if is_users(place.file)), None)
    return place, "" if place is None else linecache.getline(place.file, place.line).strip()


def _is_gradient(name: str) -> bool:
    return name.startswith("gradient of ")


def _not_again(call: Call) -> str:
    """Return why compiled code must not be called again; empty if it may."""
    settings = getattr(call.context, "compiler_config", None)
    if torch.cuda.is_available() and settings and settings.get("triton.cudagraphs"):
        return "CUDA graphs would overwrite the program's own results"
    return ""
