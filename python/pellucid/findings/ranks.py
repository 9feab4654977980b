# SPDX-License-Identifier: Apache-2.0
"""Where the captures of several ranks or processes first differ."""

from __future__ import annotations

from typing import Sequence

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import Break, Frame, Place, Recompile, Skipped

from .finding import Finding, Link, identify
from .source import Program
from .words import difference


def ranks(captures: Sequence[Capture]) -> list[Finding]:
    """Find the first thing that one rank of a job compiled and another did not."""
    known = [capture for capture in captures if capture.rank is not None and not capture.process]
    if len(known) < 2:
        return []
    steps = [_steps(capture) for capture in known]
    first = steps[0]
    for capture, other in zip(known[1:], steps[1:]):
        if other == first:
            continue
        at = next(
            (n for n, (a, b) in enumerate(zip(first, other)) if a != b), min(len(first), len(other))
        )
        one, two = first[at : at + 1], other[at : at + 1]
        mine = two[0][1] if two else "nothing more"
        theirs = one[0][1] if one else "nothing more"
        place = (two or one)[0][2] if (two or one) else None
        return [
            Finding(
                id=identify("ranks", place, f"{known[0].rank} {capture.rank}"),
                kind="ranks",
                place=place,
                code=Program(capture).code(place),
                cause=f"ranks {known[0].rank} and {capture.rank} differ first at step {at + 1}: "
                f"rank {capture.rank} has {mine}, rank {known[0].rank} has {theirs}",
                remedy="make what decides that the same on all ranks: a rank that compiles "
                "alone keeps the others "
                "waiting, and collectives in other orders hang",
                links=(Link(f"rank_{capture.rank}", 0, "that rank's capture"),),
            )
        ]
    return []


def _steps(capture: Capture) -> list[tuple[str, str, Place | None]]:
    """What a capture consists of, in order: a key to compare, words, and the place."""
    steps: list[tuple[str, str, Place | None]] = []
    program = Program(capture)
    for event in capture.events:
        if isinstance(event, Break):
            place = program.own(event.frames, event.place)
            steps.append((f"break {event.kind} {place}", f"a graph break ({event.kind})", place))
        elif isinstance(event, Recompile):
            failure = event.failures[0] if event.failures else None
            told = difference(failure) if failure is not None else "a failed guard"
            steps.append(
                (
                    f"recompile {event.key} {told}",
                    f"a recompile of [{event.key}] for {told}",
                    failure.place if failure is not None else None,
                )
            )
        elif isinstance(event, Frame):
            words = f"`{event.place.function}` compiled as [{event.key}]"
            steps.append((f"frame {event.key} {event.place}", words, event.place))
        elif isinstance(event, Skipped):
            steps.append(
                (f"skipped {event.key} {event.place}", f"[{event.key}] not compiled", event.place)
            )
    return steps
