# SPDX-License-Identifier: Apache-2.0
"""Guards dropped by the user's ``guard_filter_fn``."""

from __future__ import annotations

from collections import Counter

from pellucid.brief import counted
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import FilteredGuards, Frame, Place

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program, root_of
from ..words import named
from .unguarded import REMEDIES

_NAMED = 3


def filtered(capture: Capture, program: Program) -> list[Finding]:
    """Find compiled versions that keep running after values they depend on have changed."""
    frames = {frame.key: frame for frame in capture.of(Frame)}
    groups: dict[tuple[str, str], list[FilteredGuards]] = {}
    for event in capture.of(FilteredGuards):
        if event.name in REMEDIES:
            continue  # torch's own filter
        name = root_of(frames[event.key]) if event.key in frames else "a function"
        groups.setdefault((name, event.name), []).append(event)
    return [
        _finding(program, frames[e[0].key].place if e[0].key in frames else None, name, e)
        for (name, _), e in groups.items()
    ]


def _finding(
    program: Program, function: Place | None, name: str, events: list[FilteredGuards]
) -> Finding:
    first = max(events, key=lambda event: len(event.dropped))
    place = first.place or function
    kinds = Counter(kind for kind, _ in first.dropped)
    return Finding(
        id=identify("filtered", place, first.name),
        kind="filtered",
        place=place,
        code=program.code(place),
        cause=f"guard_filter_fn (`{first.name}`) drops {len(first.dropped)} of "
        f"{counted(first.number, 'guard')} of `{name}`, including those on "
        f"{named(first.values, _NAMED)}: "
        "when such a value changes, the old compiled code still runs, and its result may be wrong",
        quoted="\n".join(f"{kind}: {number} dropped" for kind, number in kinds.items()),
        remedy="return True for the guards on values that may change, or call "
        "torch._dynamo.reset() after such a change",
        count=len(events),
        keys=tuple(dict.fromkeys(str(event.key) for event in events)),
    )


KIND = Kind(
    "filtered",
    rank=80,
    means="A guard_filter_fn drops guards on values that may change.",
    words="guard filter",
    many="guard filters",
    tone="warn",
    quotes_torch=False,
    find=filtered,
)
