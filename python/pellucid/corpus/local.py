# SPDX-License-Identifier: Apache-2.0
"""Rows made by processes of this machine: a file that hangs or eats memory costs itself only."""

import concurrent.futures
import multiprocessing
import queue
import threading
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from pellucid import batch
from pellucid.corpus.rows import (
    ENDED,
    NO_MEMORY,
    NOT_DONE,
    Item,
    Limits,
    Row,
    empty_row,
    row_of,
)

_CHUNK = 8
"""Small files go to a process so many at a time: handing them over costs as much as one of them."""
_CHUNK_BYTES = 64 << 10
_AHEAD = 6
"""Chunks in flight for each process."""
_MOST_BYTES = 256 << 20
"""The bytes of all files that wait."""
_SHARE = 4
"""A file may have so small a part of the memory: it is read, copied and decompiled there."""
_LOST_LOCK = 10
"""Seconds until processes give up the lock of one that was killed while it had it."""
_SILENCE = 3 * _LOST_LOCK
"""Seconds without a row, beyond what one file may take, after which new processes are started."""
_TRIES = 3
"""A process may be killed by somebody else: so often a file is tried before it is blamed."""


def rows(items: Iterator[Item], tier: str, limits: Limits, workers: int) -> Iterator[Row]:
    """Yield the row of each file, as they are done: one that hangs keeps no other waiting.

    Args:
        items: the files; asked for as processes become free.
        tier: as in :func:`.row_of`.
        limits: for each file.
        workers: how many processes.

    Raises:
        concurrent.futures.BrokenExecutor: no process starts.
    """
    with Workers(tier, limits, workers) as pool:
        yield from pool.rows(items)


class _Started(NamedTuple):
    items: List[Item]
    tries: int
    """How many processes have had them."""


class Workers:
    """Processes, and the chunks of files that they were given; a context manager."""

    def __init__(self, tier: str, limits: Limits, workers: int) -> None:
        self._tier, self._limits, self._workers = tier, limits, workers
        self._flying: Dict[Any, _Started] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._pool = self._new_pool()
        self._broken = 0
        self._bytes = 0

    def _new_pool(self) -> Any:
        from pebble import ProcessPool

        batch.import_nothing_from_here()
        return ProcessPool(
            max_workers=self._workers,
            initializer=_begin,
            initargs=(self._limits.memory,),
            context=multiprocessing.get_context("spawn"),  # threads run here: a fork loses them
        )

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes, whatever they are at.

        Who waits for the rest of a message that a killed process has begun is waited for no longer
        than `_LOST_LOCK` seconds.
        """
        self._pool.stop()
        ending = threading.Thread(target=self._pool.join, daemon=True)
        ending.start()
        ending.join(_LOST_LOCK)

    def rows(self, items: Iterator[Item]) -> Iterator[Row]:
        """Yield the row of each file, as :func:`rows` does; once at a time."""
        for chunk in _chunks(items):
            fitting = [item for item in chunk if self._fits(item)]
            if fitting:
                self._start(fitting, 1)
            for item in chunk:
                if not self._fits(item):
                    yield empty_row(item, "error", NO_MEMORY)
            while len(self._flying) >= self._workers * _AHEAD or self._bytes > _MOST_BYTES:
                yield from self._next_rows()
        while self._flying:
            yield from self._next_rows()

    def _fits(self, item: Item) -> bool:
        return len(item.data) * _SHARE <= self._limits.memory

    def _start(self, items: List[Item], tries: int) -> None:
        """Give files to the next process that is free."""
        future = None
        while future is None:
            try:
                future = self._schedule(items)
            except RuntimeError:  # the pool is broken
                self._restart()
        self._bytes += _size(items)
        self._flying[future] = _Started(items, tries)
        future.add_done_callback(self._done.put)

    def _schedule(self, items: List[Item]) -> Any:
        return self._pool.schedule(_rows_of, args=(items, self._tier), timeout=self._limits.seconds)

    def _next_rows(self) -> List[Row]:
        """Return the rows of the next chunk that is done; none if it has to be done again."""
        try:
            future = self._done.get(timeout=self._limits.seconds + _SILENCE)
        except queue.Empty:  # messages are lost: somebody has killed a process while it wrote one
            self._restart()
            return []
        started = self._flying.pop(future, None)
        if started is None:  # of processes that were replaced
            return []
        self._bytes -= _size(started.items)
        return self._rows_of(future, started)

    def _rows_of(self, future: Any, started: _Started) -> List[Row]:
        from pebble import ProcessExpired

        items, tries = started
        try:
            made: List[Row] = future.result()
            self._broken = 0
            return made
        except (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError):
            self._restart()
            self._start(items, tries)
            return []
        except (concurrent.futures.TimeoutError, ProcessExpired) as error:
            if len(items) > 1:  # one of them is to blame: each by itself
                for item in items:
                    self._start([item], 1)
                return []
            if isinstance(error, concurrent.futures.TimeoutError):
                words = f"{NOT_DONE} {self._limits.seconds:g} seconds"
                return [empty_row(items[0], "error", words)]
            if tries == _TRIES:
                words = _ending(getattr(error, "exitcode", None))
                return [empty_row(items[0], "error", words)]
            self._start(items, tries + 1)
            return []

    def _restart(self) -> None:
        """Start new processes: somebody has killed all of them, or they are not heard any more."""
        self._broken += 1
        if self._broken > _TRIES:
            raise concurrent.futures.BrokenExecutor("no process starts")
        self.stop()
        self._pool = self._new_pool()
        lost = [future for future in self._flying if not _has_rows(future)]
        # None of them flies while they are started: that may need new processes once more.
        again = [self._flying.pop(future) for future in lost]
        self._bytes -= sum(_size(started.items) for started in again)
        for items, tries in again:
            self._start(items, tries)


def _chunks(items: Iterator[Item]) -> Iterator[List[Item]]:
    """Yield small files together, large ones by themselves."""
    chunk: List[Item] = []
    for item in items:
        if len(item.data) > _CHUNK_BYTES:
            yield [item]
            continue
        chunk.append(item)
        if len(chunk) == _CHUNK or _size(chunk) > _CHUNK_BYTES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _has_rows(future: Any) -> bool:
    return bool(future.done() and not future.cancelled() and future.exception() is None)


def _size(items: List[Item]) -> int:
    return sum(len(item.data) for item in items)


def _rows_of(items: List[Item], tier: str) -> List[Row]:
    """Return the rows of some files; what a process runs."""
    return [row_of(item, tier) for item in items]


def _ending(code: Optional[int]) -> str:
    how = f"signal {-code}" if code is not None and code < 0 else f"status {code}"
    return f"{ENDED} {how}, {_TRIES} times"


def _begin(memory: int) -> None:
    """Prepare a process that decompiles."""
    from pebble import CONSTS

    CONSTS.channel_lock_timeout = _LOST_LOCK
    limit_memory(memory)


def limit_memory(most: int) -> None:
    """Let this process have no more address space than `most` bytes beyond what it has now."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + most if hard == resource.RLIM_INFINITY else min(used + most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
