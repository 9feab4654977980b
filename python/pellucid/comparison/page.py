# SPDX-License-Identifier: Apache-2.0
"""Two captures side by side, as a self-contained HTML file without scripts."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from pellucid._version import __version__
from pellucid.dump.model.capture import Capture, first_graphs
from pellucid.dump.model.events import Graph, KernelFile, Source
from pellucid.findings import find
from pellucid.findings.counts import counts_of
from pellucid.report.page import hash_of, squeezed, style_text, template

from .change import Change, Comparison, Line
from .load import captures_in, told_process
from .sides import Row, Run, Side, folded, rows_of

_HERE = Path(__file__).parent
_MOST_SIZE = 2_000_000
_PLURALS = {"break": "graph breaks", "cache key": "cache keys", "process": "processes"}


@dataclass(frozen=True)
class Pair:
    """A file of both captures: a dumped file or a user's source file."""

    names: tuple[str, str]
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Shown:
    """One change as the page shows it."""

    change: Change
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]


def page_of(found: Comparison) -> str:
    """Return the page of a comparison.

    Raises:
        NotADump: a capture has been removed since the comparison.
    """
    one, two = captures_in(found.first), captures_in(found.second)
    style = style_text() + squeezed((_HERE / "static" / "sides.css").read_text(encoding="utf-8"))
    return template(_HERE / "templates" / "sides.html").render(
        first=found.first,
        second=found.second,
        version=__version__,
        style=style,
        style_hash=hash_of(style),
        counts=list(_counted(found)),
        facts=list(_facts(one, two)),
        changes=[_shown(change, one, two) for change in found.changes],
        files=list(_user_files(one, two)),
    )


def _counted(found: Comparison) -> Iterator[tuple[int, str]]:
    """Yield the number of changes of each kind, in words."""
    for kind, number in Counter(change.kind for change in found.changes).items():
        yield number, kind if number == 1 else _PLURALS.get(kind, f"{kind}s")


def _facts(
    one: Mapping[str, Capture], two: Mapping[str, Capture]
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the counts of both captures: the name, both numbers, and whether they are equal."""
    tables = [_numbers(captures) for captures in (one, two)]
    for name in dict.fromkeys([*tables[0], *tables[1]]):
        first, second = (table.get(name, "") for table in tables)
        yield name, first, second, first == second


def _numbers(captures: Mapping[str, Capture]) -> dict[str, str]:
    every = list(captures.values())
    findings = [finding for capture in every for finding in find(capture)]
    counts = counts_of(every, findings)
    captured = [(c, g) for c in every for g in first_graphs(c.of(Graph))]
    operations = sum(
        node.op.startswith("call_") for capture, g in captured for node in capture.nodes(g.file)
    )
    numbers = {
        "compiled frames": counts.frames,
        "graph breaks": counts.breaks,
        "recompiles": counts.recompiles,
        "kernels": sum(len(capture.of(KernelFile)) for capture in every),
        "captured operations": operations,
        "findings": len(findings),
    }
    if len(every) > 1:
        numbers["processes"] = len(every)
    versions = every[0].versions if every else {}
    known = {name: v for name, v in versions.items() if "git" not in name}
    return {**known, **{name: str(number) for name, number in numbers.items()}}


def _shown(change: Change, one: Mapping[str, Capture], two: Mapping[str, Capture]) -> Shown:
    first, second = (
        next((c for name, c in captures.items() if told_process(name) == change.process), None)
        for captures in (one, two)
    )
    pairs: list[Pair] = []
    if first is not None and second is not None:
        for left, right in change.beside:
            told = _told(change.lines, left, "-"), _told(change.lines, right, "+")
            texts = first.text(left), second.text(right)
            pairs.append(Pair((left, right), _runs(texts, told if any(told) else None, (1, 1))))
    return Shown(change, tuple(_lines(change.lines)), tuple(pairs))


def _told(lines: Sequence[Line], file: str, sign: str) -> frozenset[int]:
    return frozenset(line.line for line in lines if line.sign == sign and line.file == file)


def _runs(
    texts: tuple[str, str],
    told: tuple[frozenset[int], frozenset[int]] | None,
    starts: tuple[int, int],
) -> tuple[Run, ...]:
    if max(map(len, texts)) > _MOST_SIZE:
        return ()
    return tuple(folded(rows_of(*texts, told, starts)))


def _lines(lines: Sequence[Line]) -> Iterator[Row]:
    """Yield the lines of a change in two columns; lines that replace each other share a row."""
    left: list[Line] = []
    right: list[Line] = []

    def rows() -> Iterator[Row]:
        for i in range(max(len(left), len(right))):
            sides = [
                Side(group[i].line, group[i].text, True) if i < len(group) else None
                for group in (left, right)
            ]
            yield Row(*sides)
        left.clear()
        right.clear()

    for line in lines:
        if line.sign == "-" and right:
            yield from rows()
        if line.sign == "-":
            left.append(line)
        elif line.sign == "+":
            right.append(line)
        else:
            yield from rows()
            side = Side(0, line.text, False)
            yield Row(side, side)
    yield from rows()


def _user_files(one: Mapping[str, Capture], two: Mapping[str, Capture]) -> Iterator[Pair]:
    """Yield the user's files that both captures contain and that differ."""
    first, second = _sources(one), _sources(two)
    for path, other in _paired(list(first), list(second)):
        mine, theirs = first[path], second[other]
        if mine.sha256 != theirs.sha256:
            runs = _runs((mine.text, theirs.text), None, (mine.first, theirs.first))
            yield Pair((path, other), runs)


def _paired(one: Sequence[str], two: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pair paths: equal ones first, then those with the longest common suffix, if it is unique.

    >>> list(_paired(["/w1/a/m.py", "/w1/b/m.py", "/x.py"], ["/w2/b/m.py", "/w2/a/m.py"]))
    [('/w1/a/m.py', '/w2/a/m.py'), ('/w1/b/m.py', '/w2/b/m.py')]
    """
    left = [path for path in two if path not in one]
    for path in one:
        if path in two:
            yield path, path
            continue
        ends = [_common_end(path, other) for other in left]
        most = max(ends, default=0)
        if most and ends.count(most) == 1:
            yield path, left.pop(ends.index(most))


def _common_end(one: str, two: str) -> int:
    """Return the number of parts that two paths share at their ends."""
    pairs = zip(reversed(one.split("/")), reversed(two.split("/")))
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _sources(captures: Mapping[str, Capture]) -> dict[str, Source]:
    return {
        source.file: source
        for capture in captures.values()
        for source in capture.of(Source)
        if source.text
    }
