# SPDX-License-Identifier: Apache-2.0
"""Alignment of two long sequences, in time proportional to their length.

In each gap that stricter tokens leave, the longest common subsequence is found (Hunt and Szymanski,
"A fast algorithm for computing longest common subsequences", 1977), where each item has a limited
number of candidates: those nearest to its place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import Any, Hashable, Iterator, Sequence, Tuple

_MOST_CANDIDATES = 32
Pair = Tuple[int, int]


def aligned(levels: Sequence[tuple[Sequence[Hashable], Sequence[Hashable]]]) -> list[Pair]:
    """Pair the indices of two sequences, in order.

    Args:
        levels: the tokens of both sequences, the strictest first.  Items with equal tokens may be
            paired.
    """
    pairs: list[Pair] = []
    for one, two in levels:
        found: list[Pair] = []
        start = (0, 0)
        for end in [*pairs, (len(one), len(two))]:
            found += _longest(one, two, start, end)
            found.append(end)
            start = end[0] + 1, end[1] + 1
        pairs = found[:-1]
    return pairs


def _longest(
    one: Sequence[Hashable], two: Sequence[Hashable], start: Pair, end: Pair
) -> Iterator[Pair]:
    """Yield the longest common subsequence of two slices, as pairs of indices."""
    rows, columns = end[0] - start[0], end[1] - start[1]
    if not rows or not columns:
        return
    places: dict[Hashable, list[int]] = defaultdict(list)
    for j in range(start[1], end[1]):
        places[two[j]].append(j)
    # For each length, where the shortest prefix of `two` with such a subsequence ends, and its
    # pairs as a linked list.
    ends: list[int] = []
    chains: list[Any] = []
    for i in range(start[0], end[0]):
        known = places.get(one[i], [])
        if len(known) > _MOST_CANDIDATES:
            expected = start[1] + (i - start[0]) * columns // rows
            at = max(bisect_left(known, expected) - _MOST_CANDIDATES // 2, 0)
            known = known[at : at + _MOST_CANDIDATES]
        for j in reversed(known):
            length = bisect_left(ends, j)
            longer = (i, j, chains[length - 1] if length else None)
            if length == len(ends):
                ends.append(j)
                chains.append(longer)
            elif j < ends[length]:
                ends[length], chains[length] = j, longer
    found, rest = [], chains[-1] if chains else None
    while rest is not None:
        found.append(rest[:2])
        rest = rest[2]
    yield from reversed(found)
