# SPDX-License-Identifier: Apache-2.0
"""Progress and the final table of a run over many files, on standard error."""

import collections
import sys
import time
from typing import Dict, Generator, Iterable, List, Sequence, TypeVar

from pellucid.terminal import interrupts_kept, is_quiet

T = TypeVar("T")

# The rows of the table, best first; empty ones are left out.
_MEANINGS = {
    "identical": "recompiles to the same code",
    "equivalent": "recompiles to code with the same effects",
    "decompiled": "not verified",
    "unproven": "decompiled, but not proven to mean the same",
    "incomplete": "a function in it was not recovered",
    "error": "could not be decompiled, read or written",
}


def shown_progress(
    results: Iterable[T], total: int, verb: str = "decompiling"
) -> Generator[T, None, None]:
    """Show a progress bar if standard error is a terminal and there is work to wait for."""
    if total < 10 or not sys.stderr.isatty() or is_quiet():
        yield from results
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    console = Console(stderr=True, soft_wrap=True)  # do not wrap a message
    columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
    progress = Progress(*columns, Elapsed(), console=console, transient=True)
    try:
        with interrupts_kept():
            progress.start()
        task = progress.add_task("", total=total)
        for result in results:
            yield result
            progress.advance(task)
    finally:
        progress.stop()


class Summary:
    """Counts outcomes by file, and verdicts by code object."""

    def __init__(self) -> None:
        self._files: Dict[str, int] = collections.Counter()
        self._codes: Dict[str, int] = collections.Counter()
        self._start = time.monotonic()

    def add(self, outcome: str, verdicts: Sequence[str]) -> None:
        """Count one file and the verdicts on its code objects."""
        self._files[outcome] += 1
        for verdict in verdicts:
            self._codes[verdict] += 1

    def rows(self) -> "List[List[str]]":
        """Return the lines of the table, the last one being the total."""
        rows = []
        for outcome, meaning in _MEANINGS.items():
            if self._files[outcome] or self._codes[outcome]:
                rows.append([outcome, *self._counts(outcome), meaning])
        files, codes = sum(self._files.values()), sum(self._codes.values())
        seconds = f"in {time.monotonic() - self._start:.1f} s"
        return [*rows, ["total", f"{files}", "", f"{codes or ''}", "", seconds]]

    def _counts(self, outcome: str) -> "List[str]":
        cells = []
        for counts in (self._files, self._codes):
            count, total = counts[outcome], sum(counts.values())
            # Round down: never "100 %" of a part.
            share = int(1000 * count / total) / 10 if total else 0
            cells += [f"{count}", f"{share:g} %"] if count else ["", ""]
        return cells

    def print(self) -> None:
        """Print the table to standard error, unless it is empty or quiet."""
        if is_quiet() or not self._files:
            return
        import rich.box
        import rich.console
        import rich.table

        table = rich.table.Table(box=rich.box.SIMPLE_HEAD)
        table.add_column("")
        for heading in ("files", "", "code objects", ""):
            table.add_column(heading, justify="right")
        table.add_column("", style="dim")
        *rows, total = self.rows()
        for row in rows:
            table.add_row(*row)
        table.add_section()
        table.add_row(*total)
        rich.console.Console(stderr=True).print(table)
