# SPDX-License-Identifier: Apache-2.0
"""Graph breaks: each cause once, with the user's line and what to change there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.dynamo_names import broken_function
from pellucid.dump.model.events import Break, CompileKey, Frame, Place, Skipped, Started
from pellucid.dump.model.failures import is_own
from pellucid.dump.model.names import label, scrub

from ..costs import caused_by_breaks
from ..finding import Finding, Line, Link, identify
from ..kind import Kind
from ..remedies import advise
from ..remedy import together
from ..rewrites import block_around
from ..source import Program
from ..words import short

_MANAGER = "Unsupported context manager"
_ENTERS = re.compile(r"`[^`]+\.__a?enter__` should not be traced")
"""Since PyTorch 2.15, the same for a manager whose code torch does not trace."""


def breaks(capture: Capture, program: Program) -> list[Finding]:
    """Find the graph breaks."""
    groups: dict[tuple[Place | None, str], list[Break]] = {}
    functions = {frame.key: frame.place for frame in capture.of(Frame)}
    callers = {start.key: start.stack[:-1] for start in capture.of(Started)}
    for event in capture.of(Break):
        place = program.own(event.frames, event.place)
        function = functions.get(event.key)
        if place in callers.get(event.key, ()) and function is not None:
            place = _inside(capture, program, event, function) or place
        at_no_line = place is None or not (place.line or is_own(place.file))
        if at_no_line and function is not None and is_own(function.file):
            place = program.start(function)  # the cut comes from torch itself
        kind = _MANAGER if _ENTERS.search(event.reason) else event.kind
        groups.setdefault((place, kind), []).append(event)
    # The remedy moves the whole `with` out, and with it the breaks in creating the manager.
    for place, kind in [group for group in groups if group[1] == _MANAGER]:
        for other in [group for group in groups if group[0] == place and group[1] != kind]:
            groups[place, kind] += groups.pop(other)
    given_up = {event.key: event for event in capture.of(Skipped) if not event.raised}
    files = {frame.key: frame.file for frame in capture.of(Frame)}
    resumed = caused_by_breaks(capture)
    found = []
    for (place, _), events in groups.items():
        caused = [str(key) for event in events for key in resumed.get(event, ())]
        found.append(_finding(program, place, events, given_up, files, caused))
    return _merged(found)


def _inside(capture: Capture, program: Program, event: Break, function: Place) -> Place | None:
    """Return the function's own line if torch's stack has only its caller's line."""
    if not is_own(function.file):
        return None
    for frame in capture.of(Frame):
        name, line = broken_function(frame.place.function)
        if line is not None and frame.parent == event.key.id and frame.key.epoch == event.key.epoch:
            return Place(function.file, line, name)
    return program.start(function)


def _merged(found: list[Finding]) -> list[Finding]:
    """Merge findings with the same cause and remedy, however many lines they cover."""
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for finding in found:
        what = (finding.kind, finding.cause, finding.remedy, finding.sure)
        groups.setdefault(what, []).append(finding)
    return [group[0] if len(group) == 1 else _joined(group) for group in groups.values()]


def _joined(group: list[Finding]) -> Finding:
    return replace(
        group[0],
        diff="\n".join(dict.fromkeys(finding.diff for finding in group if finding.diff)),
        remedies=together([finding.remedies for finding in group]),
        count=len(group),
        keys=_each(group, "keys"),
        caused=_each(group, "caused"),
        links=_each(group, "links")[:4],
        lines=tuple(Line(f.place, f.code) for f in group if f.place is not None),
    )


def _each(group: list[Finding], name: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(value for finding in group for value in getattr(finding, name)))


def _finding(
    program: Program,
    place: Place | None,
    events: list[Break],
    given_up: dict[CompileKey, Skipped],
    files: dict[CompileKey, str],
    caused: list[str],
) -> Finding:
    first = events[0]
    advice = advise(program, place, first)
    cause = advice.cause
    inner = first.place
    is_elsewhere = inner is not None and (
        place is None or (inner.file, inner.line) != (place.file, place.line)
    )
    if inner is not None and inner.line and is_elsewhere and not is_own(inner.file):
        cause += f" (in a library that this line calls: {short(inner)})"
    uncompiled = [given_up[event.key] for event in events if event.key in given_up]
    if uncompiled:
        cause += f"; {_gave_up(first, uncompiled[0], block_around(program, place))}"
    keys = tuple(dict.fromkeys(str(event.key) for event in events))
    links = tuple(dict.fromkeys(Link(files[e.key], 0, "runs") for e in events if e.key in files))
    return Finding(
        id=identify(advice.kind, place, first.gb_id.lower()),
        kind=advice.kind,
        place=place,
        code=program.code(place),
        cause=cause,
        quoted=scrub(first.explanation),
        remedies=advice.remedies,
        sure=advice.sure,
        keys=keys,
        caused=tuple(dict.fromkeys(caused)),
        links=links[:4],
    )


def _gave_up(event: Break, skipped: Skipped, block: str) -> str:
    """Return why torch does not resume after the break, in words."""
    name = "the function" if skipped.place is None else f"`{label(skipped.place.function)}`"
    if "loop" in event.then:
        return f"the break is in a loop, so all of {name} runs uncompiled"
    if block:
        return f"torch cannot resume inside this `{block}`, so all of {name} runs uncompiled"
    return f"torch could not continue after it, so all of {name} runs uncompiled"


KIND = Kind(
    "break",
    rank=130,
    means="A graph ends at a line that cannot be part of it.",
    words="graph break",
    many="graph breaks",
    judged="adds",
    claim=30,
    is_compared=False,
    find=breaks,
)
