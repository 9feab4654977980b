# SPDX-License-Identifier: Apache-2.0
"""The places of guards: their lines in the dumped file, and the user's lines that caused them.

torch truncates paths in guard text.  They are completed here, for guards and failed guards alike,
from the files that a capture knows.
"""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from typing import Any, Callable, Iterable, Mapping, Sequence

from .events import (
    Break,
    CacheEntry,
    Frame,
    Guard,
    GuardFailure,
    Place,
    Recompile,
    Source,
    Started,
)
from .failures import without_comment


def with_lines(entry: CacheEntry, text: str) -> CacheEntry:
    """Return a cache entry whose guards have their lines in the full code.

    If the file and the entry have different numbers of guards, no lines are set.
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


def with_whole_paths(events: Iterable[Any], files: Iterable[str]) -> tuple[Any, ...]:
    """Return events whose failed guards name a user's file by its full path, or no place."""
    known = set(files)
    path_of = _finder(known)

    def whole(failure: GuardFailure) -> GuardFailure:
        place = failure.place
        if place is None or os.path.isabs(place.file) or place.file in known:
            return failure
        file = path_of(place.file)
        return replace(failure, place=None if file is None else replace(place, file=file))

    return tuple(
        replace(event, failures=tuple(map(whole, event.failures)))
        if isinstance(event, Recompile)
        else event
        for event in events
    )


def with_places(
    caches: Mapping[int, Sequence[CacheEntry]], files: Iterable[str]
) -> dict[int, tuple[CacheEntry, ...]]:
    """Return cache entries whose guards have the user's line that caused them.

    ``files`` are the candidates.
    """
    path_of = _finder(files)
    found: dict[str, Place | None] = {}

    def placed(guard: Guard) -> Guard:
        line = guard.user_line
        if line not in found:
            found[line] = place_of(line, path_of)
        place = guard.way or found[line]
        return guard if place is None else replace(guard, place=place)

    return {
        number: tuple(replace(entry, guards=tuple(map(placed, entry.guards))) for entry in entries)
        for number, entries in caches.items()
    }


def user_files(events: Iterable[Any]) -> set[str]:
    """Return the user's files named in events."""
    files = set()
    for event in events:
        if isinstance(event, Source):
            files.add(event.file)
        elif isinstance(event, (Frame, Started)) and event.place is not None:
            files.add(event.place.file)
        if isinstance(event, (Break, Started)):
            calls = event.frames if isinstance(event, Break) else event.stack
            files |= {place.file for place in calls}
    return files


def place_of(user_line: str, path_of: Callable[[str], str | None]) -> Place | None:
    """Return the place in a guard's text, if only one file matches its truncated path.

    >>> known = ["/home/me/src/job/toy.py", "/toy.py"]
    >>> place_of("y = x + 1  # rc/job/toy.py:7 in toy", lambda cut: whole_path(cut, known))
    Place(file='/home/me/src/job/toy.py', line=7, function='toy')
    """
    cut = without_comment(f"  # {user_line}")[1]
    file = None if cut is None else path_of(cut.file)
    return None if cut is None or file is None else replace(cut, file=file)


def _finder(files: Iterable[str]) -> Callable[[str], str | None]:
    known = sorted(set(files))
    return functools.lru_cache(maxsize=None)(lambda cut: whole_path(cut, known))


def whole_path(cut: str, files: Sequence[str]) -> str | None:
    """Return the only file that matches a truncated path; None if there are none or several."""
    # torch cuts the prefix shared with its own path, and one more character: part of a folder's
    # name if only the root is shared.
    matching = [file for file in files if file == cut or file.endswith(os.sep + cut)]
    matching = matching or [file for file in files if file.endswith(cut)]
    return matching[0] if len(matching) == 1 else None
