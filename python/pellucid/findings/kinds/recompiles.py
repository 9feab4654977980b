# SPDX-License-Identifier: Apache-2.0
"""Recompiles: which value changed, on which line it matters, and how to avoid it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.dynamo_names import broken_function, with_stack_named
from pellucid.dump.model.events import (
    CompileKey,
    Frame,
    GuardFailure,
    Place,
    Recompile,
    Skipped,
    Started,
)
from pellucid.dump.model.failures import NO_REASON, is_own
from pellucid.dump.model.names import label, scrub

from ..changes import Change, change
from ..finding import Finding, Line, Link, identify
from ..kind import Kind
from ..remedy import by_hand, with_hints
from ..source import Program, root_of
from ..trials import entry_of, only_difference, value_in
from ..words import difference, file_name, in_sentence, times


@dataclass
class Group:
    """Recompiles with one cause."""

    kind: str
    source: str
    place: Place | None
    function: Place | None
    """The user's function, also for a resume function."""
    code: Place | None
    """The same under the name of its code object, which may be a wrapper's."""
    places: list[Place] = field(default_factory=list)
    """All lines for which the guards were created."""
    failures: list[tuple[CompileKey, GuardFailure]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def values(self) -> list[str]:
        """The values seen, in order, each once."""
        seen = [f.expected for _, f in self.failures] + [
            f.actual for _, f in self.failures if f.actual
        ]
        return list(dict.fromkeys(value for value in seen if value))


def recompiles(capture: Capture, program: Program) -> list[Finding]:
    """Find why functions were recompiled."""
    refused = {event.key for event in capture.of(Skipped) if event.limit}
    events = [event for event in capture.of(Recompile) if event.key not in refused]
    return [_finding(capture, program, group) for group in groups_of(capture, program, events)]


def causes_of(
    capture: Capture, program: Program, events: Sequence[Recompile]
) -> tuple[str, Place | None]:
    """Return the most frequent cause of recompiles in words, and its line."""
    found = sorted(groups_of(capture, program, events), key=lambda group: -len(group.failures))
    if not found:
        return "", None
    return _cause(found[0]), found[0].place


def groups_of(capture: Capture, program: Program, events: Sequence[Recompile]) -> list[Group]:
    """Group recompiles by cause; those of resume functions belong to the original function."""
    frames = {frame.key: frame for frame in capture.of(Frame)}
    by_number: dict[str, Frame] = {}
    for known in frames.values():
        by_number.setdefault(known.key.frame, known)
    starts = {event.key: event for event in capture.of(Started)}
    groups: dict[tuple[object, ...], Group] = {}
    for event in events:
        frame = frames.get(event.key) or by_number.get(event.key.frame)
        failure = _told(capture, event, frame)
        start = starts.get(event.key)
        function = frame.place if frame is not None else None if start is None else start.place
        root = function if frame is None else Place(frame.place.file, 0, root_of(frame))
        place = _place(program, failure, function, () if start is None else start.stack)
        what = failure.source or failure.expected or first_line(failure)
        key = (root, failure.kind, what)
        code = function
        if frame is not None and frame.wrapper:
            code = replace(frame.place, function=frame.wrapper)
        group = groups.setdefault(key, Group(failure.kind, failure.source, place, function, code))
        group.failures.append((event.key, failure))
        if place is not None and place not in group.places:
            group.places.append(place)
        group.texts += event.reasons[:1]
    return _merged(list(groups.items()))


def _told(capture: Capture, event: Recompile, frame: Frame | None) -> GuardFailure:
    """Return the failure of the newest version, which torch tries first, with the actual value.

    For the global state, one guard compares everything, so the version with the fewest differences
    is the most informative.
    """
    if not event.failures:
        words = event.reasons[0] if event.reasons else NO_REASON
        return GuardFailure(None, "other", "", "", "", words, None)
    failure = event.failures[0]
    if all(other.kind == "global state" for other in event.failures):
        failure = min(event.failures, key=lambda other: len(other.expected.split()))
    actual = failure.actual
    if not actual and failure.kind in ("int", "float", "value", "none"):
        actual = value_in(entry_of(capture, event.key), failure.source)
        actual = "" if actual == failure.expected else actual
    source = failure.source
    at = None if frame is None else broken_function(frame.place.function)[1]
    if frame is not None and at is not None:
        file = "" if is_own(frame.place.file) else f" of {file_name(frame.place.file)}"
        source = with_stack_named(source, f"value of line {at}{file}")
    if failure.text.startswith("G[") and source.isidentifier():
        source = f"global {source}"
    return GuardFailure(
        failure.version, failure.kind, source, failure.expected, actual, failure.text, failure.place
    )


def _place(
    program: Program, failure: GuardFailure, function: Place | None, calls: Sequence[Place]
) -> Place | None:
    """Return the guard's line, the function's line, or the user's line that calls a library."""
    if failure.place is not None:
        found = program.through(failure.place)
        if found is not None and is_own(found.file):
            return found
    if function is not None and is_own(function.file):
        return program.start(function)
    return program.own(calls, function)


def _merged(groups: list[tuple[tuple[object, ...], Group]]) -> list[Group]:
    """Merge sizes that change together: a function passes them on to its resume functions."""
    kept: list[tuple[object, Group]] = []
    for (root, *_), group in groups:
        pairs = {(f.expected, f.actual) for _, f in group.failures}
        for other_root, other in kept:
            known = {(f.expected, f.actual) for _, f in other.failures}
            if group.kind == other.kind == "size" and root == other_root and pairs <= known:
                other.failures += group.failures
                other.places += [place for place in group.places if place not in other.places]
                break
        else:
            kept.append((root, group))
    return [group for _, group in kept]


_CLOSURE = re.compile(r"^(?P<owner>.+?)\.__closure__\[\d+\]\.cell_contents$")
_HINT = re.compile(r'\(HINT: guard on "(\w+)"\)')


def _captured(group: Group) -> tuple[str, str]:
    """Return a captured variable and the function that captures it; empty for other values."""
    owner = _CLOSURE.match(group.source)
    name = next(filter(None, map(_HINT.search, group.texts)), None)
    return ("", "") if owner is None or name is None else (name[1], owner["owner"])


def _cause(group: Group) -> str:
    name, owner = _captured(group)
    return _in_words(group).replace(
        f"`{group.source}`", f"`{name}`, captured by `{owner}`,", bool(name)
    )


def _in_words(group: Group) -> str:
    values, first = group.values, group.failures[0][1]
    if (
        group.kind
        in ("size", "stride", "int", "float", "value", "dtype", "device", "requires_grad")
        and values
    ):
        shown = ", then to ".join(values[1:4]) + (", …" if len(values) > 4 else "")
        numbers = {"int": "the int ", "float": "the float "}
        what = in_sentence(group.source)
        if what.startswith("`"):
            what = numbers.get(group.kind, "") + what
        if len(values) == 1:
            return f"{what} changed: it was {values[0]}"
        return f"{what} changed from {values[0]} to {shown}"
    return difference(first)


def _finding(capture: Capture, program: Program, group: Group) -> Finding:
    tried = [key for key, failure in group.failures if only_difference(capture, failure, key)]
    name = label(group.function.function) if group.function is not None else "?"
    # One call may recompile a function and its resume functions: count that once.
    number = max(Counter(key.frame for key, _ in group.failures).values())
    keys = tuple(dict.fromkeys(str(key) for key, _ in group.failures))
    often = f" {times(number)}" if number > 1 else ""
    advice = change(
        capture,
        program,
        group.kind,
        group.source,
        group.values,
        group.failures,
        group.place,
        group.code,
        group.texts,
    )
    shared = _shares_code(capture, group)
    if shared:
        advice = Change(by_hand(_SHARED), why=shared)
    place = advice.place or group.place
    # torch gives its hint about the sizes of parameters for whatever differs in a parameter.
    hints = () if group.kind in _NOT_SIZES else group.texts
    remedies = with_hints(advice.remedies, hints)
    captured, _ = _captured(group)
    if captured:
        remedies = tuple(
            replace(remedy, words=remedy.words.replace(group.source, captured))
            for remedy in remedies
        )
    sure = "likely" if remedies else "certain"
    if tried and advice.makes_one:
        both = next((f.version for key, f in group.failures if key == tried[0]), None)
        checked = f" (checked against the guards: {both} and {tried[0]} have no other difference)"
        remedies = (replace(remedies[0], words=remedies[0].words + checked), *remedies[1:])
        sure = "tried"
    if group.kind == "other":
        words = first_line(group.failures[0][1])
        words = words if words == NO_REASON else f"torch: {words}"
        cause, sure = f"`{name}` was recompiled{often}; {words}", "unknown"
    else:
        cause = f"`{name}` was recompiled{often}: {_cause(group)}"
        cause += f"; {advice.why}" if advice.why else ""
    places = dict.fromkeys(filter(None, (place, *group.places)))
    lines = tuple(Line(at, program.code(at)) for at in places)
    files = {frame.key: frame.file for frame in capture.of(Frame)}
    links = tuple(Link(files[key], 0, "runs") for key, _ in group.failures if key in files)
    return Finding(
        id=identify("recompile", place, f"{group.kind} {group.source}".strip()),
        kind="recompile",
        place=place,
        code=program.code(place),
        cause=cause,
        quoted=scrub("\n".join(dict.fromkeys(group.texts))),
        remedies=remedies,
        sure=sure,
        count=number,
        keys=keys,
        caused=keys,
        links=links[:4],
        lines=lines if len(lines) > 1 else (),
    )


_NOT_SIZES = ("dtype", "device", "requires_grad", "rank", "dispatch keys", "type")
_SHARED = (
    "no change needed unless the limit is hit: each function needs its own version. If it is hit, "
    "raise torch._dynamo.config.recompile_limit, or compile the functions that are wrapped"
)


def _shares_code(capture: Capture, group: Group) -> str:
    """Return which functions share a code object, if that made a guard fail; else empty."""
    frames = {frame.key: frame for frame in capture.of(Frame)}
    names: dict[str, str] = {}
    for key, failure in group.failures:
        one, other = frames.get(key), frames.get(failure.version or key)
        if one is None or other is None or one.place.function == other.place.function:
            return ""
        names.update({root_of(frame): frame.wrapper for frame in (other, one)})
    told = " and ".join(f"`{name}`" for name in list(names)[:3])
    wrapper = next(iter(names.values()), "")
    what = f"wrapper, `{wrapper}`" if wrapper else "PyTorch function"
    return (
        f"{told} run the code of one {what}, so they share its versions and its limit "
        "(recompile_limit)"
    )


def first_line(failure: GuardFailure) -> str:
    """Return torch's text for a failure, on one line."""
    return scrub(" ".join(failure.text.split()))[:200]


KIND = Kind(
    "recompile",
    rank=140,
    means="A function was recompiled because a guard failed.",
    words="recompile",
    many="recompiles",
    tone="again",
    judged="adds",
    claim=20,  # includes resume functions
    is_compared=False,
    find=recompiles,
)
