# SPDX-License-Identifier: Apache-2.0
"""The compiled functions that a run called, and the calls that ran eager."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Callable

from pellucid.dump.model.differences import Compiled
from pellucid.dump.model.events import Skipped
from pellucid.dump.model.names import label
from pellucid.dump.store.session import Session, left_alone

from ..taps import calls
from ..taps.calls import Call

_MOST_LEFT = 4


def run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
    """Call a function; if it returns a generator, exhaust it."""
    result = function(*args, **kwargs)
    return list(result) if inspect.isgenerator(result) else result


def left_one(event: Skipped) -> str:
    """Return which frame was skipped, and why."""
    where = "" if event.place is None else f"{label(event.place.function)} ({event.place}): "
    return where + event.brief


@dataclass
class Function:
    """One compiled function."""

    name: str
    way: str
    calls: int = 0
    eager: int = 0
    """The number of calls that ran no compiled code."""
    returned: int = 0
    compared: int = 0
    passed_by: int = 0
    """The number of calls that were not compared."""
    versions: set[Any] = field(default_factory=set)


class Seen:
    """The compiled functions that a run has called."""

    def __init__(self, session: Session) -> None:
        self.functions: dict[tuple[str, str], Function] = {}
        self.graphs: set[str] = set()
        """Torch's names of the graphs that ran."""
        self._session, self._left = session, set(left_alone(session))

    def enter(self, call: Call) -> calls.Leave:
        """Count a call; has the signature that :func:`.calls.watched` expects."""
        self.function(call).calls += 1
        return lambda _: self.leave(call)

    def function(self, call: Call) -> Function:
        """Return the record of the called function."""
        return self.functions.setdefault((call.name, call.way), Function(call.name, call.way))

    def leave(self, call: Call) -> None:
        """Count what a call ran."""
        function = self.function(call)
        function.returned += 1
        function.eager += not call.is_compiled
        function.versions.update(call.ran)
        self.graphs |= call.graphs or ({call.name} if call.is_compiled else set())

    @property
    def compiles(self) -> bool:
        """Return true if the program calls anything that torch compiles on call."""
        return any(way == calls.JIT for _, way in self.functions)

    def compiled(self, compared: bool = False) -> tuple[Compiled, ...]:
        """Return the functions with their compiled calls, or only those that were compared."""
        found = []
        for f in self.functions.values():
            made = f.compared if compared else f.returned - f.eager
            found.append(Compiled(f.name, f.way, made, len(f.versions)))
        return tuple(found)

    def ran_eager(self) -> list[str]:
        """Return the calls that raised or ran eager instead of compiled, one sentence each."""
        told = []
        for f in self.functions.values():
            ended = ((f.calls - f.returned, "raised an exception"), (f.eager, "ran eager"))
            told += [f"`{f.name}`: {n} of {f.calls} calls {what}" for n, what in ended if n]
        left = [event for event in left_alone(self._session) if event not in self._left]
        return told + [f"ran eager: {left_one(event)}" for event in left[:_MOST_LEFT]]
