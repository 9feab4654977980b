# SPDX-License-Identifier: Apache-2.0
"""Frames that run uncompiled although torch raised no error and reported no break."""

from __future__ import annotations

from pellucid.dump.model.breaks import accounts_of
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Break, Frame, Passed, Place, Skipped
from pellucid.dump.model.failures import NO_REASON, is_own
from pellucid.dump.model.names import label, scrub

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program

_WORDS = {
    "a generator function cannot be compiled itself": (
        "a generator function cannot be compiled itself, so it runs uncompiled",
        "call the generator inside an ordinary function, and compile that",
    ),
    "Dynamo tracing is disabled": (
        "compiling is switched off (torch._dynamo.config.disable or TORCHDYNAMO_DISABLE)",
        "switch it on again",
    ),
    "no tensor-related objects found in frame": (
        "it neither takes nor refers to a tensor, so torch does not compile it",
        "pass it a tensor, or compile the function that calls it",
    ),
}
_QUIET = (
    "already Dynamo-generated",
    "custom frame execution strategy",
    "already started executing",
    "no tensor-related",
    "No ops traced",  # nothing in it to compile
    "exec()",
    "namedtuple",
    "__setattr__",
)


def eager(capture: Capture, program: Program) -> list[Finding]:
    """Find the user's functions that torch left uncompiled."""
    return [*_left(capture, program), *_passed(capture, program)]


def _left(capture: Capture, program: Program) -> list[Finding]:
    told = {event.key for event in capture.of(Break)}
    groups: dict[tuple[Place | None, str], list[Skipped]] = {}
    for event in capture.of(Skipped):
        silent = event.reason == NO_REASON
        if not event.raised and not event.limit and not silent and event.key not in told:
            place = program.own(event.frames, event.at or event.place)
            groups.setdefault((place, event.kind), []).append(event)
    result = []
    for (place, kind), events in groups.items():
        account = accounts_of(events[0].reason)[0]
        words = " ".join((account.explanation or account.kind).split())
        name = label(events[0].place.function) if events[0].place else "a frame"
        result.append(
            Finding(
                id=identify("eager", place, kind),
                kind="eager",
                place=place,
                code=program.code(place),
                cause=f"`{name}` runs uncompiled; torch: {scrub(words)}",
                quoted=scrub(events[0].reason.strip()),
                sure="unknown",
                count=len(events),
                keys=tuple(dict.fromkeys(str(event.key) for event in events)),
            )
        )
    return result


def _passed(capture: Capture, program: Program) -> list[Finding]:
    compiled = {(f.place.file, f.place.line) for f in capture.of(Frame)}
    result = []
    for event in capture.of(Passed):
        place = program.start(event.place)
        if not is_own(place.file) or (place.file, event.place.line) in compiled:
            continue
        if any(word in event.reason for word in _QUIET):
            continue
        if not compiled and "tracing is disabled" in event.reason:
            continue  # the finding `nothing` reports this
        cause, remedy = _WORDS.get(event.reason, (f"torch: {event.reason}", ""))
        result.append(
            Finding(
                id=identify("eager", place, place.function),
                kind="eager",
                place=place,
                code=program.code(place),
                cause=f"`{label(place.function)}`: {cause}",
                quoted=event.reason,
                remedy=remedy,
                sure="certain" if remedy else "unknown",
            )
        )
    return result


KIND = Kind(
    "eager",
    rank=110,
    means="A function runs uncompiled.",
    words="not compiled",
    tone="warn",
    judged="adds",
    find=eager,
)
