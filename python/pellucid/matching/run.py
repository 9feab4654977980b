# SPDX-License-Identifier: Apache-2.0
"""The comparison of many files with their sources: processes, results and the exit code."""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any, Generator, Iterator, NamedTuple, Union

from pellucid import batch, terminal
from pellucid.errors import DecompileError, complain, printable
from pellucid.inputs import split_errors
from pellucid.matching import header, sarif
from pellucid.matching.judge import (
    DIFFERS,
    EQUIVALENT,
    MATCH,
    NO_SOURCE,
    UNPROVEN,
    Match,
    match,
)
from pellucid.matching.pairs import Pair, pairs_of
from pellucid.summary import shown_progress

_MEANINGS = {
    MATCH: "does what its source says",
    EQUIVALENT: "does the same, but Python compiles its source differently",
    DIFFERS: "does something different from its source",
    NO_SOURCE: "has no source, or its source cannot be parsed",
    UNPROVEN: "is not proven to come from its source",
    "error": "is not a valid .pyc, or cannot be read",
}
_STATUS = {DIFFERS: 1, "error": 1, NO_SOURCE: 3, UNPROVEN: 3}
_STYLES = {
    r"(?m)^differs(?=:)": "bold red",
    r"(?m)^(unproven|no source)(?=:)": "yellow",
    r"(?m)^equivalent(?=:)": "green",
    r"(?m)^  \+.*": "green",
    r"(?m)^  -.*": "red",
    r"(?m)^  @@.*": "cyan",
}
"""The terminal styles of a result, by regular expression."""
_SMALL = 20
"""The number of files from which several processes compare them."""


class Result(NamedTuple):
    """The outcome of one file."""

    pair: Pair
    match: Match
    use: str
    """What Python does with the file, in words; empty if unknown."""
    error: str

    @property
    def outcome(self) -> str:
        """The row of the summary."""
        return "error" if self.error else self.match.status


def run(arguments: argparse.Namespace) -> int:
    """Compare the files of the inputs, print the results, and return the exit code."""
    inputs, bad = split_errors(arguments.inputs)
    for given, reason in bad:
        complain(given, reason)
    status = 1 if bad else 0
    if arguments.source is not None and not os.path.isfile(arguments.source):
        complain(f"--source {arguments.source}", "no such file")
        return 2
    pairs = list(pairs_of(inputs, arguments.source))
    counts: collections.Counter[str] = collections.Counter()
    kept: list[tuple[Pair, Match]] = []
    try:
        with contextlib.closing(_results(pairs, arguments.jobs)) as results:
            for result in shown_progress(results, len(pairs), "comparing"):
                counts[result.outcome] += 1
                new = _STATUS.get(result.outcome, 0)
                status = new if not status or new == 1 else status
                _print(result, arguments)
                if not result.error:
                    kept.append((result.pair, result.match))
    except KeyboardInterrupt:
        done = f"interrupted after {sum(counts.values())} of {len(pairs)} files"
        print(f"pellucid: {done}", file=sys.stderr)
        raise
    except concurrent.futures.BrokenExecutor:
        complain("match", "a process was killed, perhaps for its memory. Rerun with --jobs 1")
        return 1
    if arguments.sarif:
        try:
            batch.write_whole(Path(arguments.sarif), json.dumps(sarif.log(kept), indent=1) + "\n")
        except OSError as error:
            complain(f"--sarif {arguments.sarif}", f"cannot be written: {_reason(error)}")
            status = 1
    if not arguments.json:
        _print_summary(counts, kept)
    return status


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _results(pairs: list[Pair], jobs: int) -> Generator[Result, None, None]:
    if jobs == 1 or len(pairs) < _SMALL:
        for pair in pairs:
            read = _Read.of(pair)
            yield read.result(batch.in_thread(_judged, *read.contents))
        return
    batch.import_nothing_from_here()
    pool = concurrent.futures.ProcessPoolExecutor(jobs)
    waiting: collections.deque[tuple[_Read, concurrent.futures.Future[_Judged]]]
    waiting = collections.deque()
    try:
        for pair in pairs:
            read = _Read.of(pair)
            with terminal.interrupts_kept():  # processes start here: this one ends them
                waiting.append((read, pool.submit(_judged, *read.contents)))
            # Read only as many files ahead as keep the processes busy.
            if len(waiting) > 8 * jobs:
                read, judged = waiting.popleft()
                yield read.result(judged.result())
        for read, judged in waiting:
            yield read.result(judged.result())
    except BaseException:  # also Ctrl-C and a closed pipe: do not wait for the rest
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown()


_Judged = Union[Match, str]
"""The match, or the reason why there is none."""


class _Read(NamedTuple):
    """A pair whose files were read."""

    pair: Pair
    pyc: bytes
    source: bytes | None
    error: str

    @classmethod
    def of(cls, pair: Pair) -> _Read:
        try:
            return cls(pair, pair.pyc.read(), pair.read_source(), "")
        except OSError as error:
            return cls(pair, b"", None, _reason(error))
        except DecompileError as error:
            return cls(pair, b"", None, str(error))

    @property
    def contents(self) -> tuple[bytes, bytes | None, int | None, str]:
        """The arguments for judging a pair."""
        return self.pyc, self.source, self.pair.optimize, self.error

    def result(self, judged: _Judged) -> Result:
        if isinstance(judged, str):
            return Result(self.pair, Match(NO_SOURCE), "", judged)
        if self.source is None:
            judged = judged._replace(reason=f"there is no {self.pair.source_name}")
            return Result(self.pair, judged, "", "")
        return Result(self.pair, judged, self._use(judged.version[1]), "")

    def _use(self, minor: int) -> str:
        """Return what Python does with the `.pyc`; empty if only its place decides that."""
        pair = self.pair
        if pair.source is None and not pair.tag:
            return ""  # zipimport prefers the .pyc to the source beside it
        assert self.source is not None
        return header.use_of(self.pyc, self.source, pair.date, minor, pair.tag)


def _judged(pyc: bytes, source: bytes | None, optimize: int | None, error: str) -> _Judged:
    if error:
        return error
    try:
        return match(pyc, source, optimize=optimize)
    except DecompileError as failed:
        return str(failed)


def _print(result: Result, arguments: argparse.Namespace) -> None:
    """Print the result for one file; without ``--json``, nothing if it is a match."""
    if arguments.json:
        return batch.print_text(json.dumps(_as_json(result)) + "\n")
    if result.error:
        return complain(result.pair.pyc.name, result.error)
    if result.match.status == MATCH:
        return
    text = "\n".join(_lines(result))
    text = terminal.styled(text, _STYLES) if arguments.colours else text
    if terminal.is_terminal():  # by the text stream, which moves the progress bar out of the way
        print(text)
    else:
        batch.print_text(text + "\n")


def _lines(result: Result) -> Iterator[str]:
    found, pair = result.match, result.pair
    yield f"{found.status}: {printable(pair.pyc.name)}"
    if found.status == DIFFERS:
        line = f":{found.line}" if found.line else ""
        yield f"  {printable(pair.source_name)}{line}, in {printable(found.function)}"
    elif found.reason:
        inside = f"in {found.function}: " if found.function else ""
        yield f"  {printable(inside + found.reason)}"
    if result.use:
        yield f"  {result.use}"
    for line in found.diff.splitlines():
        yield f"  {printable(line)}"


def _as_json(result: Result) -> dict[str, Any]:
    found = result.match
    if result.error:
        return {"file": result.pair.pyc.name, "status": "error", "reason": result.error}
    return {
        "file": result.pair.pyc.name,
        "source": result.pair.source_name,
        "python": "{}.{}".format(*found.version),
        "status": found.status,
        "reason": found.reason,
        "function": found.function,
        "line": found.line,
        "use": result.use,
        "diff": found.diff,
    }


def _print_summary(counts: collections.Counter[str], kept: list[tuple[Pair, Match]]) -> None:
    total = sum(counts.values())
    if terminal.is_quiet():
        return
    if total < 2:
        for pair in (pair for pair, found in kept if found.status == MATCH):
            source = printable(pair.source_name)
            print(f"match: {printable(pair.pyc.name)} does what {source} says", file=sys.stderr)
        return
    for outcome, meaning in _MEANINGS.items():
        if counts[outcome]:
            print(f"{counts[outcome]:7,} {outcome:10}  {meaning}", file=sys.stderr)
