# SPDX-License-Identifier: Apache-2.0
"""The ``pellucid match`` subcommand."""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Generator, Iterator, NamedTuple, Union

from pellucid import argument_types, batch
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
from pellucid.terminal import is_quiet

_EPILOG = """\
The source of a .pyc is the .py file that Python would compile into it, in the same folder or
archive. A source is parsed by the running Python, so it cannot use newer syntax than that.

exit status:
  0    every .pyc comes from its source
  1    a .pyc does something else than its source, or cannot be read
  2    wrong usage
  3    nothing differs, but a .pyc has no source, or it is not proven to come from it

examples:
  pellucid match site-packages/
  pellucid match package-1.0-py3-none-any.whl --sarif match.sarif
  pellucid match mod.cpython-312.pyc --source mod.py"""

_MEANINGS = {
    MATCH: "does what its source says",
    EQUIVALENT: "does the same, but is not what Python would make of its source",
    DIFFERS: "does something else than its source",
    NO_SOURCE: "has no source, or its source cannot be parsed",
    UNPROVEN: "is not proven to come from its source",
    "error": "is not a valid .pyc, or not readable",
}
_STATUS = {DIFFERS: 1, "error": 1, NO_SOURCE: 3, UNPROVEN: 3}
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


def add_match(commands: Any, formatter: Any) -> None:
    """Add the ``match`` subcommand to ``pellucid``."""
    add = commands.add_parser(
        "match",
        help="check whether .pyc files come from their sources",
        description="Check whether each .pyc of CPython 3.8 to 3.15 comes from its source. No\n"
        "interpreter of its version is needed, and nothing is executed.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("inputs", nargs="+", metavar="PATH", help=".pyc files, folders, archives")
    add.add_argument("--source", metavar="FILE", help="the source of the given .pyc files")
    add.add_argument("--json", action="store_true", help="print one line of JSON per .pyc")
    add.add_argument(
        "--sarif", metavar="FILE", help="write a SARIF 2.1.0 log of what does not match"
    )
    add.add_argument(
        "--jobs",
        type=argument_types.count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of processes (default: one per processor)",
    )
    add.set_defaults(command=_match)


def _match(arguments: argparse.Namespace) -> int:
    inputs, bad = split_errors(arguments.inputs)
    for given, reason in bad:
        complain(given, reason)
    status = 1 if bad else 0
    try:
        pairs = list(pairs_of(inputs, arguments.source))
    except OSError as error:
        complain(str(error.filename or arguments.source), (error.strerror or str(error)).lower())
        return 2
    counts: collections.Counter[str] = collections.Counter()
    kept: list[tuple[Pair, Match]] = []
    with contextlib.closing(_results(pairs, arguments.jobs)) as results:
        for result in shown_progress(results, len(pairs), "comparing"):
            counts[result.outcome] += 1
            new = _STATUS.get(result.outcome, 0)
            status = new if not status or new == 1 else status
            if arguments.json:
                batch.print_text(json.dumps(_as_json(result)) + "\n")
            else:
                _print(result)
            if not result.error:
                kept.append((result.pair, result.match))
    if arguments.sarif:
        batch.write_whole(Path(arguments.sarif), json.dumps(sarif.log(kept), indent=1) + "\n")
    if not arguments.json:
        _print_summary(counts)
    return status


def _results(pairs: list[Pair], jobs: int) -> Generator[Result, None, None]:
    if jobs == 1 or len(pairs) < _SMALL:
        for pair in pairs:
            read = _Read.of(pair)
            yield read.result(batch.in_thread(_judged, *read.contents))
        return
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        waiting: collections.deque[tuple[_Read, concurrent.futures.Future[_Judged]]]
        waiting = collections.deque()
        try:
            for pair in pairs:
                read = _Read.of(pair)
                waiting.append((read, pool.submit(_judged, *read.contents)))
                # Read only as many files ahead as keep the processes busy.
                if len(waiting) > 8 * jobs:
                    read, judged = waiting.popleft()
                    yield read.result(judged.result())
            for read, judged in waiting:
                yield read.result(judged.result())
        except BaseException:
            for _, judged in waiting:
                judged.cancel()
            raise


_Judged = Union[Match, str]
"""Return the outcome, or the reason why there is none."""


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
            return cls(pair, b"", None, (error.strerror or str(error)).lower())
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
        pair, minor = self.pair, judged.version[1]
        use = header.use_of(self.pyc, self.source, pair.date, minor, pair.tag)
        return Result(pair, judged, use, "")


def _judged(pyc: bytes, source: bytes | None, optimize: int | None, error: str) -> _Judged:
    if error:
        return error
    try:
        return match(pyc, source, optimize=optimize)
    except DecompileError as failed:
        return str(failed)


def _print(result: Result) -> None:
    """Print the result for one file; nothing if it is a match."""
    found = result.match
    if result.error:
        return complain(result.pair.pyc.name, result.error)
    if found.status == MATCH:
        return
    batch.print_text("\n".join(_lines(result)) + "\n")


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


def _print_summary(counts: collections.Counter[str]) -> None:
    total = sum(counts.values())
    if is_quiet():
        return
    if total < 2:
        (outcome,) = counts or ("",)
        if outcome == MATCH:
            print(f"match: {_MEANINGS[MATCH]}", file=sys.stderr)
        return
    for outcome, meaning in _MEANINGS.items():
        if counts[outcome]:
            print(f"{counts[outcome]:7,} {outcome:10}  {meaning}", file=sys.stderr)
