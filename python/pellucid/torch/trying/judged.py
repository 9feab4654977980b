# SPDX-License-Identifier: Apache-2.0
"""Judgement of a trial from the findings of two runs of a program, without and with a remedy."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import Callable, Sequence, Tuple

from pellucid.dump.model.capture import Capture
from pellucid.findings import Finding
from pellucid.findings.counts import counts_of
from pellucid.findings.kinds import KINDS
from pellucid.findings.remedy import Outcome, Trial
from pellucid.findings.words import short


@dataclass(frozen=True)
class Run:
    """One run of the program."""

    findings: tuple[Finding, ...]
    outcome: Outcome
    compared: int = 0
    difference: float | None = None
    are_apart: bool = False
    """Whether a result differs by more than rounding."""
    name: str = ""
    """The result that differs most."""


def outcome_of(
    captures: Sequence[Capture], findings: Sequence[Finding], seconds: float, raised: str
) -> Outcome:
    """Return the outcome of a run, in numbers."""
    counts = counts_of(captures, findings)
    return Outcome(counts.breaks, counts.recompiles, round(seconds, 3), raised)


def judged(
    before: Run, after: Run, finding: Finding | None, moved: Callable[[str, int], int]
) -> Trial:
    """Return the trial's result for the remedy of the second run.

    Args:
        before: the run without it.
        after: the run with it.
        finding: the finding to remedy; None for all findings of the first run.
        moved: maps a line of a file to its position in the second run.
    """
    problems = [found for found in before.findings if KINDS[found.kind].judged]
    targets = [finding] if finding is not None else problems
    known, there = _counts(before, moved), _counts(after, _same)
    if finding is not None and _key(finding, moved) not in known:
        return Trial("suggestion", "the problem did not occur when the program ran again")
    keys = [_key(target, moved) for target in targets]
    left = [key for key in keys if key in there]
    fewer = [key for key in left if there[key] < known[key]]
    new = [f for f in after.findings if KINDS[f.kind].judged and _key(f, _same) not in known]
    status, why = _status(len(keys) - len(left), len(fewer), new, before.outcome, after.outcome)
    if after.are_apart and status in ("works", "helps"):
        status, why = "changes results", f"most in {after.name}" if after.name else ""
    return Trial(status, why, before.outcome, after.outcome, after.difference, after.compared)


def _status(
    gone: int, fewer: int, new: Sequence[Finding], before: Outcome, after: Outcome
) -> tuple[str, str]:
    if after.raised and not before.raised:
        return "does not help", f"the program then raises {after.raised}"
    fatal = [finding for finding in new if KINDS[finding.kind].judged == "rules out"]
    if fatal:
        return "does not help", f"then: {_worded(fatal[0])}"
    if not gone and not fewer:
        return "does not help", ""
    # new findings come from code that was not reached before
    goes_further = before.raised and not after.raised
    if new and not goes_further:
        return "helps", f"a new {_worded(new[0])}"
    return ("works" if gone else "helps"), ""


def _worded(finding: Finding) -> str:
    at = f" at {short(finding.place)}" if finding.place is not None else ""
    return f"{finding.kind}{at}: {finding.cause}"[:160]


def _counts(run: Run, moved: Callable[[str, int], int]) -> Counter[_Key]:
    """Return the number of occurrences of each finding."""
    counts: Counter[_Key] = Counter()
    for finding in run.findings:
        counts[_key(finding, moved)] += finding.count
    return counts


def _same(file: str, line: int) -> int:
    return line


_LINE = re.compile(r"\bline (\d+)\b(?! of )")
"""A line of the user's file; the file of other lines is named."""
_Key = Tuple[str, str, int, str]


def _key(finding: Finding, moved: Callable[[str, int], int]) -> _Key:
    """Return the identity of a finding, with line numbers of the second run.

    A recompile for the same value counts as the same wherever torch notices it first.
    """
    place = finding.place
    if place is None:
        return finding.kind, "", 0, finding.id
    file = os.path.basename(place.file)
    rest = finding.id.replace(f"{finding.kind}:{file}:{place.line}", "", 1)
    # The value after a break is identified by its line.
    rest = _LINE.sub(lambda found: f"line {moved(place.file, int(found[1]))}", rest)
    line = 0 if finding.kind == "recompile" else moved(place.file, place.line)
    return finding.kind, file, line, rest
