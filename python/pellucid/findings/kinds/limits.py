# SPDX-License-Identifier: Apache-2.0
"""The recompile limit: existing versions keep running, all other calls run uncompiled."""

from __future__ import annotations

from typing import Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Frame, Place, Recompile, Skipped
from pellucid.dump.model.names import label, scrub

from ..finding import Finding, identify
from ..kind import Kind
from ..remedy import Remedy, by_hand, setting
from ..source import Program, root_of
from .recompiles import causes_of, recompiles


def limits(capture: Capture, program: Program) -> list[Finding]:
    """Find the functions that hit a recompile limit."""
    groups: dict[tuple[str, Place | None], list[Skipped]] = {}
    for event in capture.of(Skipped):
        if event.limit:
            groups.setdefault((event.limit, event.place), []).append(event)
    return [_finding(capture, program, events) for events in groups.values()]


def _shared(versions: list[Frame], why: str) -> str:
    """Return which functions or modules share the limit, in words; empty if only one does."""
    names = list(dict.fromkeys(f"`{root_of(frame)}`" for frame in versions))
    if len(names) > 1:
        wrapper = f" of the wrapper `{versions[0].wrapper}`" if versions[0].wrapper else ""
        return f"; {' and '.join(names[:3])} share the code{wrapper} and its limit"
    if "`self." in why and "self.training" not in why:
        return "; all modules of the class share the limit"
    return ""


def _finding(capture: Capture, program: Program, events: list[Skipped]) -> Finding:
    first = events[0]
    frame = first.key.frame
    versions = [f for f in capture.of(Frame) if f.key.frame == frame]
    again = [r for r in capture.of(Recompile) if r.key.frame == frame]
    name = label(
        versions[0].place.function if versions else first.place.function if first.place else "?"
    )
    why, place = causes_of(capture, program, again)
    place = place or first.place
    set_to = capture.configuration.get(f"torch._dynamo.config.{first.limit}", "")
    number = set_to or str(len(versions))
    because = f", because {why}" if why else ""
    shared = _shared(versions, why)
    because += shared
    cause = (
        f"the call raised {first.kind}: `{name}` has {len(versions)} versions, the limit "
        f"({first.limit} = {number}){because}"
        if first.raised
        else f"`{name}` has hit {first.limit} ({number}){because}; calls that match none of its "
        "versions run uncompiled"
    )
    ends = _ends_recompiles(recompiles(capture, program), again)
    return Finding(
        id=identify("limit", place, frame),
        kind="limit",
        place=place,
        code=program.code(place),
        cause=cause,
        quoted=scrub(first.reason.strip()),
        remedies=(
            *(ends or (_raised(first.limit, number) if shared else ())),
            *by_hand(
                "fix the cause of the recompiles (see below); raising the limit only postpones it"
            ),
        ),
        count=len(events),
        keys=tuple(dict.fromkeys([*(str(f.key) for f in versions), *(str(e.key) for e in events)])),
    )


def _ends_recompiles(found: Sequence[Finding], again: Sequence[Recompile]) -> tuple[Remedy, ...]:
    """Return the remedies of the most frequent cause that a program can apply."""
    keys = {str(event.key) for event in again}
    causes = [finding for finding in found if keys.intersection(finding.keys)]
    most = max(causes, key=lambda finding: finding.count, default=None)
    return tuple(r for r in most.remedies if r.kind != "by hand") if most is not None else ()


def _raised(limit: str, number: str) -> tuple[Remedy, ...]:
    """Return a higher limit, which is right if only a few functions or modules share it."""
    value = max(64, 4 * int(number)) if number.isdigit() else 64
    line = f"torch._dynamo.config.{limit} = {value}"
    return (setting(line, "set {}, if no more versions than that are needed (one per module)"),)


KIND = Kind(
    "limit",
    rank=50,
    means="A function reached a recompile limit: calls that match no version run uncompiled.",
    words="limit hit",
    many="limits hit",
    judged="rules out",
    find=limits,
)
