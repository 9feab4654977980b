# SPDX-License-Identifier: Apache-2.0
"""Outcomes that torch's trace does not report: skipped frames, stances, late hooks."""

from __future__ import annotations

import contextlib
from typing import Callable, Sequence

from pellucid.dump.model.events import (
    Calls,
    Frame,
    LateHook,
    Passed,
    Place,
    Skipped,
    Stance,
    Uncalled,
)
from pellucid.dump.model.failures import is_own
from pellucid.dump.model.names import scrub
from pellucid.dump.store.session import Session

from ..taps import hooks, outcomes

_MOST = 200
_OF_ITSELF = (
    "/torch/_dynamo/",
    "/torch/_compile.py",
    "/torch/compiler/",
    "/torch/_jit_internal.py",
)


class Early:
    """The frames that torch skips and the stances of calls, also before any capture is open."""

    def __init__(self) -> None:
        self._passed: dict[tuple[Place, str], None] = {}
        self._stances: dict[Stance, None] = {}

    def guard(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Suppress errors so that they do not reach the program."""
        return contextlib.suppress(Exception)

    def passed(self, place: Place, reason: str, is_generator: bool) -> None:
        """Record that torch skipped a frame."""
        if is_generator and "suppressed" in reason:
            reason = "a generator function cannot be compiled itself"
        if len(self._passed) < _MOST and not any(part in place.file for part in _OF_ITSELF):
            self._passed[place, reason] = None

    def stance(self, stance: str, place: Place | None) -> None:
        """Record that a compiled function was called under a stance, once per line."""
        if len(self._stances) < _MOST:
            self._stances[Stance(stance, place)] = None

    def failed(self, place: Place, reasons: tuple[str, ...]) -> None:
        """Record why a call failed under the most recent stance."""
        last = next(reversed(list(self._stances)), None)
        if last is not None:
            self._stances[
                Stance(last.stance, last.place, place.function, scrub("\n".join(reasons)))
            ] = None


class Outcomes(Early):
    """Records the outcomes of one capture until :meth:`finish`."""

    def __init__(self, session: Session, early: Early | None = None) -> None:
        super().__init__()
        self._session = session
        if early is not None:  # for a capture that opens late
            self._passed.update(early._passed)
            self._stances.update(early._stances)
        self._watched: dict[object, outcomes.Watched] = {}
        self._late: dict[object, dict[LateHook, None]] = {}

    def guard(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Record an error instead of raising it in the program."""
        return self._session.guard(what)

    def compiled(self) -> None:
        """Record the current hooks of the modules that are being compiled."""
        for watched in outcomes.watch_modules():
            self._watched[id(watched.module)] = watched  # one weak reference per module
            self._late.pop(id(watched.module), None)

    def look(self) -> None:
        """Look for hooks added since; a module may be gone when the capture ends."""
        for number, watched in self._watched.items():
            for module, table, hook in outcomes.late_hooks(watched):
                self._late.setdefault(number, {})[LateHook(module, table, hook)] = None

    def finish(self) -> None:
        """Record the outcomes; skipped library frames only if nothing was compiled at all."""
        session = self._session
        told = {(e.place.file, e.place.line) for e in session.of(Skipped) if e.place is not None}
        nothing = not session.of(Frame)
        for place, reason in self._passed:
            own = is_own(place.file)
            if (own or nothing) and (place.file, place.line) not in told:
                session.record(Passed(place, reason))
        if nothing and not session.of(Skipped):
            for module, start in dict.fromkeys(outcomes.compiled_modules()):
                session.record(Uncalled(module, start))
        failed = {(event.stance, event.place) for event in self._stances if event.function}
        for event in self._stances:
            if event.function or (event.stance, event.place) not in failed:
                session.record(event)
        for key, number in session.calls().items():
            session.record(Calls(key, number))
        self.look()
        for late in self._late.values():
            for hook in late:
                session.record(hook)


def follow(found: Callable[[], Sequence[Early]]) -> hooks.Remove:
    """Start notifying the objects that ``found`` returns; call the result to stop."""

    def passed(place: Place, reason: str, is_generator: bool) -> None:
        for one in found():
            with one.guard("reading which frames torch skips"):
                one.passed(place, reason, is_generator)

    def stance(stance: str, place: Place | None) -> None:
        for one in found():
            with one.guard("reading torch's stance"):
                one.stance(stance, place)

    def failed(place: Place, reasons: tuple[str, ...]) -> None:
        for one in found():
            with one.guard("reading torch's stance"):
                one.failed(place, reasons)

    removes = [outcomes.add_passed_by(passed), outcomes.add_stances(stance, failed)]

    def remove() -> None:
        for undo in removes:
            undo()

    return remove


__all__ = ["Early", "Outcomes", "follow"]
