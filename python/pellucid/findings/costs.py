# SPDX-License-Identifier: Apache-2.0
"""The cost of findings: each second of compile time is charged to at most one finding."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import Mapping, Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.dynamo_names import broken_function
from pellucid.dump.model.events import Break, CompileKey, Frame, Skipped, Times

from .finding import Cost, Finding


def seconds_of(times: Times) -> float:
    """Return the duration of one compile, or of a backward graph that was compiled separately."""
    whole = "duration" if times.backward else "entire_frame_compile_time"
    return times.seconds.get(whole, 0.0)


def compile_seconds(capture: Capture) -> dict[str, float]:
    """Return the duration of each compile, including its backward graph."""
    found: dict[str, float] = defaultdict(float)
    for times in capture.times:
        found[str(times.key)] += seconds_of(times)
    return dict(found)


def charged(found: Sequence[Finding], left: Mapping[str, float]) -> list[Finding]:
    """Return findings with their costs, which never add up to more than the total compile time.

    Args:
        found: the findings.  A cost that several findings share is charged to the first one.  A
            finding that already knows its seconds (part of some compiles) is charged no more than
            that.
        left: the seconds of each compile.
    """
    left = dict(left)
    cost: dict[str, float] = {}
    for finding in found:
        most = math.inf if finding.cost.seconds is None else finding.cost.seconds
        for key in finding.caused:
            taken = min(left.get(key, 0.0), most)
            if taken > 0:
                left[key] -= taken
                most -= taken
                cost[finding.id] = cost.get(finding.id, 0.0) + taken
    # Round down so that the sum cannot exceed the total.
    told = {id: math.floor(seconds * 1000) / 1000 for id, seconds in cost.items()}
    return [replace(f, cost=Cost(told.pop(f.id, None))) for f in found]


def caused_by_breaks(capture: Capture) -> Mapping[Break, list[CompileKey]]:
    """Return the compiles caused by each break: those of its resume functions.

    If the compile that hit the break was abandoned, it is included.
    """
    found: dict[Break, list[CompileKey]] = defaultdict(list)
    breaks = capture.of(Break)
    by_id: dict[tuple[str, int], list[Break]] = defaultdict(list)
    for event in breaks:
        by_id[event.key.id or "", event.key.epoch].append(event)
    for frame in capture.of(Frame):
        line = broken_function(frame.place.function)[1]
        if line is not None:
            within = by_id[frame.parent, frame.key.epoch] if frame.parent else breaks
            at = [event for event in within if _passes(event, frame.place.file, line)]
            for event in (at or (within if len(within) == 1 else []))[:1]:
                found[event].append(frame.key)
    given_up = {event.key for event in capture.of(Skipped) if not event.raised}
    for event in breaks:
        if event.key in given_up:
            found[event].append(event.key)
    return found


def _passes(event: Break, file: str, line: int) -> bool:
    """Return true if a break is at a line of a function, or inside a call on that line."""
    places = event.frames if event.place is None else (*event.frames, event.place)
    return any((place.file, place.line) == (file, line) for place in places)
