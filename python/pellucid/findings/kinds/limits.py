# SPDX-License-Identifier: Apache-2.0
"""The limit of recompiles: what was compiled runs on, everything else runs uncompiled."""

from __future__ import annotations

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import Frame, Place, Recompile, Skipped
from pellucid.torch.model.names import label, scrub

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program, root_of
from .recompiles import causes_of


def limits(capture: Capture, program: Program) -> list[Finding]:
    """Find the functions that torch compiles no more because it had to too often."""
    groups: dict[tuple[str, Place | None], list[Skipped]] = {}
    for event in capture.of(Skipped):
        if event.limit:
            groups.setdefault((event.limit, event.place), []).append(event)
    return [_finding(capture, program, events) for events in groups.values()]


def _shared(versions: list[Frame], why: str) -> str:
    """Who shares the limit, where that is more than one function or module; else nothing."""
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
    because += _shared(versions, why)
    cause = (
        f"the call raised {first.kind}: `{name}` has {len(versions)} versions, the limit "
        f"({first.limit} = {number}){because}"
        if first.raised
        else f"`{name}` has hit {first.limit} ({number}){because}; calls that match none of its "
        "versions run uncompiled"
    )
    return Finding(
        id=identify("limit", place, frame),
        kind="limit",
        place=place,
        code=program.code(place),
        cause=cause,
        quoted=scrub(first.reason.strip()),
        remedy=f"fix the cause of the recompiles (see below); raising {first.limit} "
        f"only postpones it",
        count=len(events),
        keys=tuple(dict.fromkeys([*(str(f.key) for f in versions), *(str(e.key) for e in events)])),
    )


KIND = Kind(
    "limit",
    rank=50,
    means="A function reached a recompile limit: calls that match no version run uncompiled.",
    words="limit hit",
    many="limits hit",
    find=limits,
)
