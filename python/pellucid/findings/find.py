# SPDX-License-Identifier: Apache-2.0
"""The search for findings: every kind is run, and the results are sorted by severity."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Sequence

from pellucid.dump.model.capture import Capture

from .costs import charged, compile_seconds
from .counts import BREAKS, RECOMPILES
from .finding import Cost, Finding
from .kinds import KINDS
from .remembered import with_trials
from .source import Program


def find(capture: Capture) -> list[Finding]:
    """Return the findings of a capture, the most severe first.

    The order and everything but :attr:`.Cost.seconds` are the same in every run.  The exception is
    the kind that depends on the clock: whether a compile is slow.
    """
    program = Program(capture)
    finders = [kind.find for kind in KINDS.values() if kind.find is not None]
    found = _named_apart([finding for finder in finders for finding in finder(capture, program)])
    found.sort(key=lambda finding: KINDS[finding.kind].claim)
    told = with_trials(capture.directory, charged(found, compile_seconds(capture)))
    return _in_order(told)


def _in_order(found: Sequence[Finding]) -> list[Finding]:
    return sorted(found, key=lambda finding: (KINDS[finding.kind].rank, -finding.count))


def _named_apart(found: Sequence[Finding]) -> list[Finding]:
    """Give findings with the same id (several functions in one wrapper) distinct ids."""
    met: Counter[str] = Counter()
    result = []
    for finding in found:
        met[finding.id] += 1
        number = met[finding.id]
        result.append(replace(finding, id=f"{finding.id}:{number}") if number > 1 else finding)
    return result


def find_all(captures: Sequence[Capture]) -> list[Finding]:
    """Return the findings of several processes' captures, with duplicates merged."""
    merged: dict[str, Finding] = {}
    for capture in captures:
        for finding in find(capture):
            first = merged.get(finding.id)
            if first is None:
                merged[finding.id] = finding
            else:
                merged[finding.id] = _both(first, finding)
    found = [*merged.values()]
    for kind in KINDS.values():
        if kind.across is not None:
            found += kind.across(captures)
    return _in_order(found)


def _both(one: Finding, other: Finding) -> Finding:
    """Merge one finding of two processes: the costs add up."""
    seconds = [f.cost.seconds for f in (one, other) if f.cost.seconds is not None]
    lines = tuple(dict.fromkeys((*one.lines, *other.lines)))
    return replace(
        one,
        keys=tuple(dict.fromkeys((*one.keys, *other.keys))),
        caused=tuple(dict.fromkeys((*one.caused, *other.caused))),
        cost=Cost(sum(seconds)) if seconds else Cost(),
        count=max(one.count, other.count, len(lines)),
        lines=lines,
    )


def count_line(findings: Sequence[Finding]) -> str:
    """Return the number of findings of each kind, in words.

    >>> count_line([])
    'no problems found'
    """
    counts: Counter[str] = Counter()
    for finding in findings:
        kind = BREAKS[0] if finding.kind in BREAKS else finding.kind
        counts[kind] += finding.count if kind in (*BREAKS, *RECOMPILES) else 1
    parts = [
        f"{counts[kind.name]} {kind.many or kind.words if counts[kind.name] > 1 else kind.words}"
        for kind in KINDS.values()
        if counts[kind.name]
    ]
    return ", ".join(parts) or "no problems found"
