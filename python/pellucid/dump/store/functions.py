# SPDX-License-Identifier: Apache-2.0
"""The user's functions in a capture, by number, with the cache entries of each."""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from types import CodeType

from ..model.events import CacheEntry


class Functions:
    """The code objects that torch compiled; none is kept alive.  Every method is thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._codes: list[weakref.ref[CodeType]] = []
        self._numbers: dict[int, int] = {}
        self._cached: set[int] = set()
        self._caches: dict[int, list[CacheEntry]] = {}
        self._arrived: dict[int, list[CacheEntry]] = {}

    def number(self, code: CodeType) -> int:
        """Return the number of a code object that is being compiled, a new number for a new one."""
        with self._lock:
            number = self.known(code)
            if number is None:
                number = self._numbers[id(code)] = len(self._codes)
                self._codes.append(weakref.ref(code))
            self._cached.add(number)
            return number

    def known(self, code: CodeType) -> int | None:
        """Return the number of a known code object; None for others."""
        with self._lock:
            number = self._numbers.get(id(code))  # an id may be reused after its object is freed
            return number if number is not None and self._codes[number]() is code else None

    def code(self, number: int) -> CodeType | None:
        """Return the code object of a number, or None if the program has dropped it."""
        with self._lock:
            return self._codes[number]()

    def all(self) -> list[tuple[int, CodeType | None]]:
        """Return every number with its code object, or None if the program has dropped it."""
        with self._lock:
            return [(number, ref()) for number, ref in enumerate(self._codes)]

    # -- cache entries --

    def cached(self) -> list[tuple[int, CodeType]]:
        """Return the functions of which torch may have cache entries.

        After a reset, these are few: the cost of reading them must not grow with the capture.
        """
        with self._lock:
            found = [(number, self._codes[number]()) for number in sorted(self._cached)]
            return [(number, code) for number, code in found if code is not None]

    def without_cache(self, function: int) -> None:
        """Record that torch has no cache entries of a function until it is compiled again."""
        with self._lock:
            self._cached.discard(function)

    def caches(self) -> dict[int, list[CacheEntry]]:
        """Return the latest cache entries of each function."""
        with self._lock:
            return dict(sorted(self._caches.items()))

    def cache(self, function: int) -> list[CacheEntry]:
        """Return the latest cache entries of a function."""
        with self._lock:
            return self._caches.get(function, [])

    def set_cache(self, function: int, entries: list[CacheEntry]) -> None:
        """Store the latest cache entries of a function; a reset makes torch drop them."""
        with self._lock:
            self._caches[function] = entries

    def arrived(self, function: int) -> list[CacheEntry]:
        """Return the entries of a function that torch does not hold with its code."""
        with self._lock:
            return list(self._arrived.get(function, ()))

    def add_arrived(self, function: int, entry: CacheEntry) -> None:
        """Store an entry that torch does not hold with the function's code; it does not change."""
        with self._lock:
            self._arrived.setdefault(function, []).append(entry)
            self._caches.setdefault(function, []).append(entry)

    def forget(self, function: int, entries: list[CacheEntry]) -> None:
        """Store the entries that torch is about to drop."""
        with self._lock:
            kept = self._arrived.setdefault(function, [])
            known = {entry.key for entry in kept}
            kept += (replace(e, forgotten=True) for e in entries if e.key not in known)
