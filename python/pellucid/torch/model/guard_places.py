# SPDX-License-Identifier: Apache-2.0
"""Where guards stand: in the dumped file, and for which line of the user's they were made."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any, Iterable, Mapping, Sequence

from .events import CacheEntry, Frame, Guard, Place, Source, Started

_USER_LINE = re.compile(r"(?:^|# )([^#\n]+):(\d+) in (\S+)$")


def with_lines(entry: CacheEntry, text: str) -> CacheEntry:
    """Return a cache entry whose guards know their lines in the full code.

    Where the file does not have as many guards as the entry, no line is told.
    """
    lines = text.split("\n")
    start = next((i for i, x in enumerate(lines) if x == f"def guards_{entry.key.slug}(L, G):"), -1)
    if start < 0:
        return entry
    found = []
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        if line and not line.startswith(" "):
            break
        if line.lstrip().startswith("yield ") and line.strip().split("  #")[0] != "yield VALUES":
            found.append(number)
    if len(found) != len(entry.guards):
        return entry
    guards = tuple(replace(guard, line=line) for guard, line in zip(entry.guards, found))
    return replace(entry, guards=guards)


def with_places(
    caches: Mapping[int, Sequence[CacheEntry]], files: Iterable[str]
) -> dict[int, tuple[CacheEntry, ...]]:
    """Return cache entries whose guards know the user's place that they were made for.

    torch cuts its path to the last folders; ``files`` are those that it may be.
    """
    known = sorted(set(files))
    found: dict[str, Place | None] = {}

    def placed(guard: Guard) -> Guard:
        line = guard.user_line
        if line not in found:
            found[line] = place_of(line, known)
        place = guard.way or found[line]
        return guard if place is None else replace(guard, place=place)

    return {
        number: tuple(replace(entry, guards=tuple(map(placed, entry.guards))) for entry in entries)
        for number, entries in caches.items()
    }


def user_files(events: Iterable[Any]) -> set[str]:
    """Return the files of the user's of which events speak."""
    files = set()
    for event in events:
        if isinstance(event, Source):
            files.add(event.file)
        elif isinstance(event, (Frame, Started)) and event.place is not None:
            files.add(event.place.file)
    return files


def place_of(user_line: str, files: Sequence[str]) -> Place | None:
    """Return the place that a guard's text names, in the one file that it may be of.

    >>> place_of("y = x + 1  # rc/job/toy.py:7 in toy", ["/home/me/src/job/toy.py", "/toy.py"])
    Place(file='/home/me/src/job/toy.py', line=7, function='toy')
    """
    found = _USER_LINE.search(user_line)
    if found is None:
        return None
    # torch keeps so many letters of the end, and may begin within a folder's name.
    end = found[1].strip()
    matching = [file for file in files if file == end or file.endswith(os.sep + end)]
    matching = matching or [file for file in files if file.endswith(end)]
    if len(matching) != 1:
        return None
    return Place(matching[0], int(found[2]), found[3])
