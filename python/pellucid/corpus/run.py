# SPDX-License-Identifier: Apache-2.0
"""The flow: files are found, those without a row are decompiled, rows are stored."""

import contextlib
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Iterator, List, NamedTuple, Sequence, Set

from pellucid import batch
from pellucid.corpus import found
from pellucid.corpus.rows import Item, Limits, Row
from pellucid.corpus.store import Store
from pellucid.errors import complain
from pellucid.summary import Summary
from pellucid.terminal import inform, is_quiet

_EVERY = 30.0
"""Seconds between two lines of progress, where no terminal shows it."""


class Plan(NamedTuple):
    """What is asked for."""

    inputs: Sequence[str]
    out: Path
    tier: str
    limits: Limits
    workers: int
    engine: str
    """``local`` or ``ray``."""
    address: str = ""
    retry_limited: bool = False
    """Files whose row says that a limit stopped them are tried again."""


def run(plan: Plan) -> int:
    """Make the table, and return the exit code: by the worst row of a file of the inputs.

    Raises:
        NoTable, OSError: the table cannot be written.
    """
    with Store(plan.out, plan.tier, plan.retry_limited) as store:
        files = _Files(plan.inputs, store)
        progress = _Progress(plan.inputs)
        status = batch.EXIT_OK
        summary = Summary()
        try:
            with progress.shown():
                for row in _rows(plan, iter(files)):
                    store.add(row)
                    summary.add(row["outcome"], [code["verdict"] for code in row["functions"]])
                    progress.add(row["outcome"], files.seen)
                    status = _worse(status, row["outcome"])
        except KeyboardInterrupt:
            print(
                f"pellucid: interrupted after {progress.done} files. Rerun the command to resume.",
                file=sys.stderr,
            )
            raise
    summary.print()
    for outcome in files.outcomes:
        status = _worse(status, outcome)
    told = [
        *([f"{files.had} files already had a row"] if files.had else []),
        *([f"{files.twice} files were duplicates"] if files.twice else []),
    ]
    if told:
        inform(", ".join(told))
    return batch.EXIT_ERROR if files.bad else status


def _worse(status: int, outcome: str) -> int:
    """Return the worse of an exit code and that of an outcome: an error is the worst."""
    if outcome in ("error", "incomplete") or status == batch.EXIT_ERROR:
        return batch.EXIT_ERROR
    return batch.EXIT_UNPROVEN if outcome == "unproven" else status


def _rows(plan: Plan, items: Iterator[Item]) -> Iterator[Row]:
    if plan.engine == "ray":
        from pellucid.corpus import cluster

        return cluster.rows(items, plan.tier, plan.limits, plan.address)
    from pellucid.corpus import local

    return local.rows(items, plan.tier, plan.limits, plan.workers)


class _Files:
    """The files of the inputs that have no row; each distinct one once."""

    def __init__(self, inputs: Sequence[str], store: Store) -> None:
        self._inputs, self._before = inputs, store.done
        self.outcomes: Set[str] = set()
        """Those of the files that had a row already."""
        self.seen = self.had = self.twice = self.bad = 0

    def __iter__(self) -> Iterator[Item]:
        met: Set[bytes] = set()
        for place in found.places(self._inputs):
            item = self._read(place)
            if item is None:
                continue
            self.seen += 1
            digest = bytes.fromhex(item.digest)
            if digest in met:
                self.twice += 1
                continue
            met.add(digest)
            if digest in self._before:
                self.had += 1
                self.outcomes.add(self._before[digest])
            else:
                yield item

    def _read(self, place: found.Place) -> "Item | None":
        error = place.error
        if not error:
            try:
                return found.read(place)
            except Exception as caught:  # whatever it is, it costs this file only
                error = found.reason(caught)
        self.bad += 1
        complain(place.origin, error)
        return None


class _Progress:
    """How many are done, how fast, how many are left, with which verdicts; on standard error."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self._inputs = inputs
        self._total = 0
        self._outcomes: Counter[str] = Counter()
        self._start = self._told = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        threading.Thread(target=self._count, daemon=True).start()
        if sys.stderr is None or not sys.stderr.isatty() or is_quiet():
            yield
            return
        import rich.console
        import rich.progress as rp

        columns = (
            rp.TextColumn("{task.fields[words]}"),
            rp.BarColumn(),
            rp.MofNCompleteColumn(),
            rp.TimeRemainingColumn(),
        )
        with rp.Progress(
            *columns, console=rich.console.Console(stderr=True), transient=True
        ) as bar:
            self._bar, self._task = bar, bar.add_task("", total=None, words="")
            yield

    def _count(self) -> None:
        """Count the files of this machine meanwhile: what is elsewhere is not asked for twice."""
        local = [given for given in self._inputs if "://" not in given]
        with contextlib.suppress(Exception):  # what cannot be read is told where it is read
            count = sum(1 for place in found.places(local) if not place.error)
            self._total = count if len(local) == len(self._inputs) else 0

    def add(self, outcome: str, seen: int) -> None:
        self._outcomes[outcome] += 1
        if self._bar is not None:
            total = self._total or None
            self._bar.update(self._task, completed=seen, total=total, words=self._words())
        elif time.monotonic() - self._told > _EVERY:
            self._told = time.monotonic()
            left = f", {max(0, self._total - seen)} left" if self._total else ""
            inform(f"{self._words()}{left}")

    @property
    def done(self) -> int:
        """The number of rows so far."""
        return sum(self._outcomes.values())

    def _words(self) -> str:
        rate = self.done / max(time.monotonic() - self._start, 1e-9)
        told: List[str] = [f"{n} {outcome}" for outcome, n in self._outcomes.most_common()]
        return f"{self.done} rows, {rate:.1f} per second: {', '.join(told)}"
