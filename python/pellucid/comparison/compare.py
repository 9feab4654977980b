# SPDX-License-Identifier: Apache-2.0
"""Comparison of two captures: each cause with its consequences.

A change in a function changes all its later graphs, its kernels and its cache keys.  Only the first
difference is reported, with the rest as consequences.  Timings, and whether a cache was warm, do
not count as differences.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import replace
from typing import Iterator, Mapping, Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Operator

from .change import KINDS, Change, Comparison, Line
from .functions import Function, functions_of
from .load import captures_in, told_process
from .parts import break_changes, findings_of, frame_changes, recompile_changes, skipped_changes
from .versions import version_changes


def compare(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> Comparison:
    """Compare two captures.

    Args:
        first, second: directories of captures; ranks and processes below them are compared by
            their names.

    Returns:
        The differences; false if there are none.

    Raises:
        NotADump: a directory does not contain a readable capture.
    """
    one, two = captures_in(first), captures_in(second)
    changes: list[Change] = []
    for name in dict.fromkeys([*one, *two]):
        if name not in one or name not in two:
            has = "second" if name in two else "first"
            words = f"only the {has} capture has it"
            changes.append(Change("process", name or "the first process", words))
            continue
        found = compare_captures(one[name], two[name])
        changes += [replace(change, process=told_process(name)) for change in found]
    ordered = sorted(changes, key=lambda change: KINDS.index(change.kind))
    return Comparison(str(first), str(second), tuple(ordered))


def compare_captures(one: Capture, two: Capture) -> list[Change]:
    """Return the differences between two loaded captures."""
    changes = [*_tables("version", one.versions, two.versions)]
    settings = [*_tables("setting", one.configuration, two.configuration)]
    changes += settings
    changes += _tables("operator", _operators(one), _operators(two))
    explained = bool(changes)
    a, b = functions_of(one), functions_of(two)
    changes += skipped_changes(one, two)
    for mine, other in _pairs(a, b):
        if mine is None or other is None:
            changes += _lone(mine, other)
            continue
        found = _function_changes(one, two, mine, other, explained)
        changes += found
    changes = _merged(changes)
    told = [where for change in changes for where in (change.where, *change.also)]
    changed = {where.partition(" [")[0] for where in told}
    changes += findings_of(one, two, changed)
    return changes


def _merged(changes: Sequence[Change]) -> list[Change]:
    """Merge the same change in several functions; the other functions are listed in it."""
    found: dict[object, Change] = {}
    for change in changes:
        lines = tuple((line.sign, line.text) for line in change.lines if line.sign.strip())
        # A change without lines is specific to one function.
        same = (change.kind, lines) if lines else change
        first = found.get(same)
        if first is None:
            found[same] = change
        else:
            found[same] = replace(first, also=(*first.also, change.where))
    return list(found.values())


def _tables(kind: str, one: Mapping[str, str], two: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys([*one, *two]):
        if one.get(name) == two.get(name):
            continue
        lines = tuple(
            Line(sign, table[name]) for sign, table in (("-", one), ("+", two)) if name in table
        )
        default = "; the other has the default" if kind == "setting" and len(lines) == 1 else ""
        has = "first" if name in one else "second"
        differs = "the schema differs" if kind == "operator" else f"the {kind} differs"
        words = differs if len(lines) == 2 else f"only the {has} capture sets it"
        yield Change(kind, name, words + default, lines)


def _operators(capture: Capture) -> dict[str, str]:
    """Return the schemas of custom operators by name."""
    return {event.name: "; ".join(event.schemas) for event in capture.of(Operator)}


def _pairs(
    one: Sequence[Function], two: Sequence[Function]
) -> Iterator[tuple[Function | None, Function | None]]:
    """Pair the functions of two captures by name and order."""
    names = [f.name for f in one], [f.name for f in two]
    matcher = difflib.SequenceMatcher(None, *names, autojunk=False)
    lone: list[Function] = []
    new: list[Function] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(one[i1:i2], two[j1:j2])
        else:
            lone += one[i1:i2]
            new += two[j1:j2]
    # A function at a different position is still the same function.
    for function in list(lone):
        other = next((f for f in new if f.name == function.name), None)
        if other is not None:
            new.remove(other)
            lone.remove(function)
            yield function, other
    yield from ((function, None) for function in lone)
    yield from ((None, function) for function in new)


def _lone(one: Function | None, two: Function | None) -> list[Change]:
    function = one or two
    if function is None or not function.frames:
        return []  # skipped, which skipped_changes reports
    has = "second" if one is None else "first"
    versions = len(function.frames)
    times = f" in {versions} versions" if versions > 1 else ""
    return [Change("frame", function.label, f"compiled{times} in the {has} capture only")]


def _function_changes(
    one: Capture, two: Capture, mine: Function, other: Function, explained: bool
) -> list[Change]:
    """Return how one function differs; a break or recompile explains differences in frames."""
    changes = break_changes(mine, other)
    if changes:
        frames = abs(len(mine.frames) - len(other.frames))
        more = "more" if len(other.frames) > len(mine.frames) else "fewer"
        words = f"{frames} {more} frame{'' if frames == 1 else 's'} in the second capture"
        follows = (words,) if frames else ()
        changes[0] = replace(changes[0], follows=follows, beside=_first_frames(mine, other))
        return changes
    changes = recompile_changes(mine, other)
    for first, second in mine.matched(other):
        changes += version_changes(one, two, first, second, explained)
    return changes or frame_changes(mine, other)


def _first_frames(mine: Function, other: Function) -> tuple[tuple[str, str], ...]:
    """Return the files of the function's first frame in both captures."""
    files = [function.frames[0].file for function in (mine, other) if function.frames]
    return ((files[0], files[1]),) if len(files) == 2 else ()
