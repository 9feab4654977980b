# SPDX-License-Identifier: Apache-2.0
"""What is other in one of two captures, causes apart from what follows of them.

A change in a function makes every later graph of it other, its kernels and the keys of its caches.
Only the first is told, with what follows of it.  How long something took, and whether a cache had
it already, is no difference.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import replace
from typing import Iterator, Mapping, Sequence

from pellucid.errors import NotADump
from pellucid.torch.model.capture import Capture
from pellucid.torch.store.load import captures_below, load
from pellucid.torch.store.record import RECORD

from .change import KINDS, Change, Comparison, Line
from .functions import Function, functions_of
from .parts import break_changes, findings_of, frame_changes, recompile_changes, skipped_changes
from .versions import version_changes


def compare(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> Comparison:
    """Compare what two dumps say.

    Args:
        first, second: directories of captures; ranks and processes below them are compared by
            their names.

    Returns:
        What is other; false when nothing is.

    Raises:
        NotADump: one of them has no capture, or one that cannot be read.
    """
    one, two = _all(first), _all(second)
    changes: list[Change] = []
    for name in dict.fromkeys([*one, *two]):
        if name not in one or name not in two:
            has = "second" if name in two else "first"
            words = f"only the {has} capture has it"
            changes.append(Change("process", name or "the first process", words))
            continue
        told = name.replace("_", " ")
        found = compare_captures(one[name], two[name])
        changes += [replace(change, process=told) for change in found]
    ordered = sorted(changes, key=lambda change: KINDS.index(change.kind))
    return Comparison(str(first), str(second), tuple(ordered))


def _all(directory: str | os.PathLike[str]) -> dict[str, Capture]:
    below = captures_below(directory)
    found: dict[str, Capture] = {}
    if not below or os.path.exists(os.path.join(os.fspath(directory), RECORD)):
        found[""] = load(directory)
    for name in below:
        found[name] = load(os.path.join(os.fspath(directory), name))
    if not found:
        raise NotADump(f"{directory}: no capture")
    return found


def compare_captures(one: Capture, two: Capture) -> list[Change]:
    """Return what is other in the second of two captures that were loaded."""
    changes = [*_tables("version", one.versions, two.versions)]
    settings = [*_tables("setting", one.configuration, two.configuration)]
    changes += settings
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
    """The same change in several functions once, with where else it is."""
    found: dict[object, Change] = {}
    for change in changes:
        lines = tuple((line.sign, line.text) for line in change.lines if line.sign.strip())
        # What is of no lines is told of one function each.
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
        default = "; the other has its default" if kind == "setting" and len(lines) == 1 else ""
        has = "other" if len(lines) == 2 else f"told by the {'first' if name in one else 'second'}"
        yield Change(kind, name, f"the {kind} is {has}{default}", lines)


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
    # What comes in another order is the same function still.
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
        return []  # left alone, which is told
    has = "second" if one is None else "first"
    versions = len(function.frames)
    times = f" in {versions} versions" if versions > 1 else ""
    return [Change("frame", function.label, f"compiled{times} in the {has} capture alone")]


def _function_changes(
    one: Capture, two: Capture, mine: Function, other: Function, explained: bool
) -> list[Change]:
    """What is other in one function: a break or a recompile explains what its frames differ in."""
    changes = break_changes(mine, other)
    if changes:
        frames = abs(len(mine.frames) - len(other.frames))
        follows = (f"{frames} frame{'' if frames == 1 else 's'} more or less",) if frames else ()
        changes[0] = replace(changes[0], follows=follows)
        return changes
    changes = recompile_changes(mine, other)
    for first, second in mine.matched(other):
        changes += version_changes(one, two, first, second, explained)
    return changes or frame_changes(mine, other)
