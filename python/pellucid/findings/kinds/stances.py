# SPDX-License-Identifier: Apache-2.0
"""Calls that ran uncompiled, or failed, because of ``torch.compiler.set_stance``."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Place, Stance
from pellucid.dump.model.failures import failures_of

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program
from ..words import difference

_WORDS = {
    "force_eager": "every compiled function runs uncompiled",
    "eager_on_recompile": "a call silently runs uncompiled when no compiled version matches",
    "fail_on_recompile": "a call raises when no compiled version matches",
    "eager_then_compile": "the first call runs uncompiled",
    "aot_eager_then_compile": "the first call is compiled by aot_eager, the next by the backend",
}


def stances(capture: Capture, program: Program) -> list[Finding]:
    """Find the calls under a stance that is not the default, each stance once."""
    groups: dict[tuple[str, bool], list[Stance]] = {}
    for event in capture.of(Stance):
        groups.setdefault((event.stance, bool(event.function)), []).append(event)
    found = sorted(groups.items(), key=lambda item: not item[0][1])
    return [_finding(program, events) for _, events in found]


def _finding(program: Program, events: list[Stance]) -> Finding:
    first = events[0]
    failed = bool(first.function)
    what = _WORDS.get(first.stance, "compiled functions behave differently")
    cause = f"a compiled function was called under the stance {first.stance}: {what}"
    remedy = "end the stance (it is also a context manager) before calls that should be compiled"
    if failed:
        from pellucid.dump.model.events import CompileKey

        failures = (
            failures_of(CompileKey(None), first.reason.split("\n")[:1]) if first.reason else ()
        )
        why = f" because {difference(failures[0])}" if failures else ""
        cause = f"`{first.function}` raised under the stance {first.stance}{why}"
        remedy = "make such a call before you set the stance, or make the changed value dynamic"
    elif first.stance in ("fail_on_recompile",):
        remedy = ""
    places: list[Place] = [event.place for event in events if event.place is not None]
    return Finding(
        id=identify("stance", first.place, first.stance),
        kind="stance",
        place=places[0] if places else None,
        code=program.code(places[0] if places else None),
        cause=cause,
        quoted=first.reason,
        remedy=remedy,
        sure="certain",
        count=len(events),
    )


KIND = Kind(
    "stance",
    rank=60,
    means="A call ran uncompiled, or raised an error, because of torch.compiler.set_stance.",
    words="stance",
    many="stances",
    tone="warn",
    find=stances,
)
