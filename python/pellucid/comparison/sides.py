# SPDX-License-Identifier: Apache-2.0
"""Two texts side by side: lines in pairs, and runs of equal lines folded."""

from __future__ import annotations

import difflib
import itertools
import re
from dataclasses import dataclass
from typing import Collection, Iterator, Sequence

CONTEXT = 3
"""The number of equal lines shown before and after a difference."""
MOST_FOLDED = 2000
"""Longer runs of equal lines are only counted."""
_MOST_PAIRED = 20_000
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Side:
    """One line of one text."""

    number: int
    """Starts at 1."""
    text: str
    differs: bool


@dataclass(frozen=True)
class Row:
    """A line of the first text, a line of the second, or both."""

    first: Side | None
    second: Side | None

    @property
    def differs(self) -> bool:
        """Return true if the row is part of the difference."""
        return any(side is not None and side.differs for side in (self.first, self.second))


@dataclass(frozen=True)
class Run:
    """Consecutive rows."""

    rows: tuple[Row, ...]
    folded: bool
    """True for equal lines too far from any difference."""
    left_out: int = 0
    """The number of equal lines left out of ``rows``."""


def rows_of(
    first: str,
    second: str,
    told: tuple[Collection[int], Collection[int]] | None = None,
    starts: tuple[int, int] = (1, 1),
) -> list[Row]:
    """Pair the lines of two texts; lines that differ only in numbers still match.

    Args:
        first, second: the texts.
        told: the numbers of the lines that differ, for each text; by default, by their text.
        starts: the number of the first line of each text.

    Returns:
        All lines of both texts in order, each once.
    """
    one, two = _lines(first), _lines(second)
    rows: list[Row] = []

    def add(i: int | None, j: int | None) -> None:
        is_other = i is None or j is None or one[i] != two[j]
        sides: list[Side | None] = []
        for number, (index, lines) in enumerate(((i, one), (j, two))):
            if index is None:
                sides.append(None)
                continue
            line = index + starts[number]
            differs = is_other if told is None else line in told[number]
            sides.append(Side(line, lines[index], differs))
        rows.append(Row(*sides))

    for tag, i1, i2, j1, j2 in _aligned(one, two):
        left, right = list(range(i1, i2)), list(range(j1, j2))
        if tag == "equal" or (told is None and len(left) == len(right)):
            for i, j in zip(left, right):
                add(i, j)
        else:
            for pair in itertools.zip_longest(left, right):
                add(*pair)
    return rows


def _lines(text: str) -> list[str]:
    """Split text into lines as an editor does: a form feed does not end a line."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _aligned(one: Sequence[str], two: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Align two texts; common lines at the start and end are skipped first."""
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(two)) - head and one[-1 - tail] == two[-1 - tail]:
        tail += 1
    mine, theirs = one[head : len(one) - tail], two[head : len(two) - tail]
    inner: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(mine), 0, len(theirs))]
    if max(len(mine), len(theirs)) <= _MOST_PAIRED:
        a, b = ([_NUMBER.sub("0", line.strip()) for line in lines] for lines in (mine, theirs))
        inner = difflib.SequenceMatcher(None, a, b, autojunk=len(mine) > 2000).get_opcodes()
    moved = [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in inner]
    ends = ("equal", len(one) - tail, len(one), len(two) - tail, len(two))
    return [("equal", 0, head, 0, head), *moved, ends]


def folded(rows: Sequence[Row]) -> Iterator[Run]:
    """Group rows: differences with context, and the runs of equal lines between them."""
    near = [False] * len(rows)
    for i, row in enumerate(rows):
        if row.differs:
            start, end = max(0, i - CONTEXT), min(len(rows), i + CONTEXT + 1)
            near[start:end] = [True] * (end - start)
    for is_near, group in itertools.groupby(zip(near, rows), key=lambda pair: pair[0]):
        own = tuple(row for _, row in group)
        if is_near or len(own) <= 2:
            yield Run(own, False)
        elif len(own) > MOST_FOLDED:
            yield Run((), True, len(own))
        else:
            yield Run(own, True)
