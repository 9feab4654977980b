# SPDX-License-Identifier: Apache-2.0
"""Breaks, recompiles, skipped frames, and findings that differ between two captures."""

from __future__ import annotations

from collections import Counter
from typing import Callable, Iterable, TypeVar

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Break, Place, Recompile, Skipped
from pellucid.dump.model.names import label, scrub
from pellucid.findings import find
from pellucid.findings.finding import Finding
from pellucid.findings.kinds import KINDS
from pellucid.findings.words import difference

from .change import Change, Line
from .functions import Function

T = TypeVar("T")


def _lone(
    one: Iterable[T], two: Iterable[T], sign: Callable[[T], object]
) -> tuple[list[T], list[T]]:
    """Return the items that only one collection has, counting duplicates."""
    first, second = list(one), list(two)
    counts = Counter(map(sign, first)), Counter(map(sign, second))
    more = counts[0] - counts[1], counts[1] - counts[0]
    found: tuple[list[T], list[T]] = ([], [])
    for items, left, result in ((first, more[0], found[0]), (second, more[1], found[1])):
        for item in reversed(items):
            if left[sign(item)] > 0:
                left[sign(item)] -= 1
                result.insert(0, item)
    return found


def _short(place: Place | None) -> str:
    file = "" if place is None else place.file.replace("\\", "/").rpartition("/")[2]
    return "" if place is None else f"{file}:{place.line}"


def break_changes(one: Function, two: Function) -> list[Change]:
    """Return the graph breaks of a function that only one capture has."""
    lone, new = _lone(one.breaks, two.breaks, _break)
    changes = []
    for has, function, breaks in (("first", one, lone), ("second", two, new)):
        for stop in breaks:
            reason = stop.reason or stop.kind or stop.title.partition(" — ")[0]
            where = f" at {_short(stop.place)}" if stop.place is not None else ""
            words = f"only the {has} capture has a graph break{where}"
            line = Line("-" if has == "first" else "+", " ".join(reason.split()))
            changes.append(Change("break", function.label, words, (line,)))
    return changes


def _break(stop: Break) -> object:
    reason = stop.reason or stop.title.partition(" — ")[0]
    return stop.kind, scrub(reason), stop.place.function if stop.place is not None else ""


def recompile_changes(one: Function, two: Function) -> list[Change]:
    """Return the recompiles of a function that only one capture has."""
    lone, new = _lone(one.recompiles, two.recompiles, _recompile)
    changes = []
    for has, function, found in (("first", one, lone), ("second", two, new)):
        for again in found:
            sign = "-" if has == "first" else "+"
            told = [difference(failure) for failure in again.failures] or list(again.reasons)
            lines = tuple(Line(sign, " ".join(text.split())) for text in told)
            words = f"only the {has} capture recompiled it, as [{again.key}]"
            changes.append(Change("recompile", function.label, words, lines))
    return changes


def _recompile(again: Recompile) -> object:
    failures = [(f.kind, f.source, f.expected, f.actual) for f in again.failures]
    return tuple(failures) or tuple(map(scrub, again.reasons))


def frame_changes(one: Function, two: Function) -> list[Change]:
    """Return how often a function was compiled if the numbers differ without a reported cause."""
    if len(one.versions) == len(two.versions):
        return []
    times = [f"{len(function.versions)} times" for function in (one, two)]
    words = f"compiled {times[0]} in the first capture, {times[1]} in the second"
    return [Change("frame", two.label, words)]


def skipped_changes(one: Capture, two: Capture) -> list[Change]:
    """Return the frames that only one capture left uncompiled."""
    lone, new = _lone(one.of(Skipped), two.of(Skipped), _skipped)
    changes = []
    for has, found in (("first", lone), ("second", new)):
        for event in found:
            name = label(event.place.function) if event.place is not None else f"[{event.key}]"
            where = f"{name} ({_short(event.place)})" if event.place is not None else name
            words = f"only the {has} capture left it uncompiled"
            line = Line("-" if has == "first" else "+", event.brief)
            changes.append(Change("skipped", where, words, (line,)))
    return changes


def _skipped(event: Skipped) -> object:
    return event.kind, event.brief, event.place.function if event.place is not None else ""


def findings_of(one: Capture, two: Capture, changed: set[str]) -> list[Change]:
    """Return the findings that only one capture has.

    Args:
        one, two: the captures.
        changed: functions with other reported changes, which explain their findings.
    """
    found = [[f for f in find(capture) if KINDS[f.kind].is_compared] for capture in (one, two)]
    lone, new = _lone(found[0], found[1], _finding)
    functions = {name.partition(" (")[0] for name in changed}
    changes = []
    for has, findings in (("first", lone), ("second", new)):
        for finding in findings:
            function = finding.place.function if finding.place is not None else ""
            if function in functions:
                continue
            where = f"{finding.kind} {_short(finding.place)}".strip()
            words = f"only in the {has} capture: {finding.cause}"
            changes.append(Change("finding", where, words))
    return changes


def _finding(finding: Finding) -> object:
    function = finding.place.function if finding.place is not None else ""
    return finding.kind, function, finding.code or scrub(finding.cause)
