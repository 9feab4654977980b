# SPDX-License-Identifier: Apache-2.0
"""What torch itself reports as wrong: ranks that differ, backward graphs that failed to compile."""

from __future__ import annotations

import re

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import BackwardFailure, Frame, Place, RankMismatch

from .finding import Finding, identify
from .source import Program

_DIFFERS = re.compile(r"node (\d+):\s+rank (\d+): (.*)\s+rank (\d+): (.*)")
_COUNT = re.compile(r"rank (\d+): (\d+) call_function nodes")


def mismatches(capture: Capture, program: Program) -> list[Finding]:
    """Find graphs that torch's own check says differ between ranks."""
    found: dict[str, Finding] = {}
    for event in capture.of(RankMismatch):
        place = _place(capture, event)
        found[str(event.key)] = Finding(
            id=identify("ranks", place, f"spmd {event.key}"),
            kind="ranks",
            place=place,
            code=program.code(place),
            cause=f"the ranks compiled different graphs for [{event.key}]: {_first(event.text)}",
            quoted=event.text,
            remedy="make every rank take the same path through the model: the ranks call their "
            "collectives in a different order otherwise, and may hang",
            keys=(str(event.key),),
        )
    return list(found.values())


def _first(text: str) -> str:
    """The first difference that a report of torch's names."""
    differs = _DIFFERS.search(text)
    if differs is not None:
        number, one, mine, other, theirs = differs.groups()
        one_op, other_op = (op.partition(" meta=")[0].strip() for op in (mine, theirs))
        if one_op != other_op:
            return f"node {number} is {one_op} on rank {one}, {other_op} on rank {other}"
        return f"node {number} ({one_op}) has different sizes or types on ranks {one} and {other}"
    counts = dict.fromkeys(f"{count} nodes on rank {rank}" for rank, count in _COUNT.findall(text))
    return ", ".join(counts) or "torch does not say where"


def failed_backward(capture: Capture, program: Program) -> list[Finding]:
    """Find backward graphs that failed to compile while the forward pass was compiled."""
    groups: dict[str, list[BackwardFailure]] = {}
    for event in capture.of(BackwardFailure):
        groups.setdefault(event.reason, []).append(event)
    found = []
    for reason, events in groups.items():
        place = _place(capture, events[0])
        found.append(
            Finding(
                id=identify("failed", place, f"backward {reason[:40]}"),
                kind="failed",
                place=place,
                code=program.code(place),
                cause=f"the backward graph failed to compile: {reason}",
                quoted=events[0].text,
                remedy="no change needed if backward() is never called; otherwise torch compiles "
                "the graph again then, and raises the error if it fails again",
                count=len(events),
                keys=tuple(dict.fromkeys(str(event.key) for event in events)),
            )
        )
    return found


def _place(capture: Capture, event: RankMismatch | BackwardFailure) -> Place | None:
    return next((frame.place for frame in capture.of(Frame, event.key)), None)
