# SPDX-License-Identifier: Apache-2.0
"""Rows made by processes of this machine: a file that hangs or eats memory costs itself only."""

import collections
import concurrent.futures
import multiprocessing
from typing import Any, Deque, Iterator, NamedTuple, Optional

from pellucid.corpus.rows import Item, Limits, Row, empty_row, row_of

_WINDOW = 16
"""How many files a process may be ahead of the oldest one that is not done."""
_MOST_BYTES = 256 << 20
"""The bytes of all files that wait."""
_SHARE = 4
"""A file may have so small a part of the memory: it is read, copied and decompiled there."""
_TRIES = 3
"""A process may be killed by somebody else: so often a file is tried before it is blamed."""


def rows(items: Iterator[Item], tier: str, limits: Limits, workers: int) -> Iterator[Row]:
    """Yield the row of each file, in order.

    Args:
        items: the files; asked for as processes become free.
        tier: as in :func:`.row_of`.
        limits: for each file.
        workers: how many processes.

    Raises:
        concurrent.futures.BrokenExecutor: no process starts.
    """
    with _Workers(tier, limits, workers) as pool:
        for item in items:
            pool.add(item)
            while len(pool.waiting) >= workers * _WINDOW or pool.bytes_waiting > _MOST_BYTES:
                yield pool.next_row()
        while pool.waiting:
            yield pool.next_row()


class _Started(NamedTuple):
    item: Item
    future: Any
    """None where the file is too large to be given to a process."""
    tries: int
    """How many processes have had it."""


class _Workers:
    """Processes, and the files that were given to them, the oldest first."""

    def __init__(self, tier: str, limits: Limits, workers: int) -> None:
        self._tier, self._limits, self._workers = tier, limits, workers
        self.waiting: Deque[_Started] = collections.deque()
        self._pool = self._new_pool()
        self._broken = 0
        self.bytes_waiting = 0

    def _new_pool(self) -> Any:
        from pebble import ProcessPool

        return ProcessPool(
            max_workers=self._workers,
            initializer=limit_memory,
            initargs=(self._limits.memory,),
            context=multiprocessing.get_context("spawn"),  # threads run here: a fork loses them
        )

    def __enter__(self) -> "_Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.stop()
        self._pool.join()

    def add(self, item: Item, tries: int = 1) -> None:
        """Give a file to the next process that is free."""
        self.bytes_waiting += len(item.data)
        is_large = len(item.data) * _SHARE > self._limits.memory
        self.waiting.append(_Started(item, None, 0) if is_large else self._started(item, tries))

    def _started(self, item: Item, tries: int) -> _Started:
        try:
            future = self._schedule(item)
        except RuntimeError:  # the pool is broken
            self._restart()
            future = self._schedule(item)
        return _Started(item, future, tries)

    def _schedule(self, item: Item) -> Any:
        return self._pool.schedule(row_of, args=(item, self._tier), timeout=self._limits.seconds)

    def next_row(self) -> Row:
        """Return the row of the oldest file."""
        row = self._row_of_oldest()
        self.bytes_waiting -= row["size"]
        return row

    def _row_of_oldest(self) -> Row:
        from pebble import ProcessExpired

        while True:
            item, future, tries = self.waiting.popleft()
            if future is None:
                return empty_row(item, "error", "not enough memory")
            try:
                row: Row = future.result()
                self._broken = 0
                return row
            except concurrent.futures.TimeoutError:
                words = f"not done after {self._limits.seconds:g} seconds"
                return empty_row(item, "error", words)
            except ProcessExpired as error:
                if tries == _TRIES:
                    return empty_row(item, "error", _ending(getattr(error, "exitcode", None)))
                self.waiting.appendleft(self._started(item, tries + 1))
            except (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError):
                self.waiting.appendleft(_Started(item, future, tries))
                self._restart()

    def _restart(self) -> None:
        """Start new processes: somebody has killed all of them before they did anything."""
        self._broken += 1
        if self._broken > _TRIES:
            raise concurrent.futures.BrokenExecutor("no process starts")
        self._pool.stop()
        self._pool.join()
        self._pool = self._new_pool()
        before = list(self.waiting)
        self.waiting.clear()
        for item, future, tries in before:
            if future is None:
                self.waiting.append(_Started(item, None, tries))
                continue
            done = future.done() and not future.cancelled() and future.exception() is None
            again = future if done else self._schedule(item)
            self.waiting.append(_Started(item, again, tries))


def _ending(code: Optional[int]) -> str:
    how = f"signal {-code}" if code is not None and code < 0 else f"status {code}"
    return f"the process that read it ended with {how}, {_TRIES} times"


def limit_memory(most: int) -> None:
    """Let this process have no more address space than `most` bytes beyond what it has now."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + most if hard == resource.RLIM_INFINITY else min(used + most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
