# SPDX-License-Identifier: Apache-2.0
"""All causes, in the order in which they are looked for, and what is found in the order to read."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Callable, Sequence

from pellucid.torch.model.capture import Capture

from .breaks import breaks
from .cached import bypassed_caches
from .caches import caches
from .cudagraphs import cudagraphs
from .differences import differences
from .eager import eager
from .failed import failed
from .finding import Finding
from .hooks import hooks
from .limits import limits
from .memory import memory
from .nans import nans
from .nothing import nothing
from .precision import precision
from .ranks import ranks
from .recompiles import recompiles
from .slow import slow
from .source import Program
from .stances import stances
from .told import failed_backward, mismatches

Cause = Callable[[Capture, Program], "list[Finding]"]

CAUSES: tuple[Cause, ...] = (
    failed,
    failed_backward,
    mismatches,
    nothing,
    limits,
    stances,
    hooks,
    eager,
    nans,
    differences,
    breaks,
    recompiles,
    bypassed_caches,
    cudagraphs,
    slow,
    memory,
    precision,
    caches,
)

ORDER = (
    "ranks",
    "failed",
    "nothing",
    "limit",
    "stance",
    "hook",
    "nan",
    "difference",
    "eager",
    "disabled",
    "break",
    "recompile",
    "cached",
    "cudagraph",
    "slow",
    "memory",
    "precision",
    "cache",
)
"""The kinds, the most expensive first; what is of one kind is in the order of its count."""


def find(capture: Capture) -> list[Finding]:
    """Return what a capture says went wrong, the most expensive first.

    The order, and all but :attr:`.Cost.seconds`, is the same from run to run; only whether a
    compile is slow is not.
    """
    program = Program(capture)
    found = [finding for cause in CAUSES for finding in cause(capture, program)]
    seconds = {str(times.key): 0.0 for times in capture.times}
    for times in capture.times:
        seconds[str(times.key)] += times.seconds.get("entire_frame_compile_time", 0.0)
    told = [_timed(finding, seconds) for finding in found]
    return sorted(told, key=lambda finding: (ORDER.index(finding.kind), -finding.count))


def find_all(captures: Sequence[Capture]) -> list[Finding]:
    """Return the findings of the captures of several processes, the same one once."""
    merged: dict[str, Finding] = {}
    for capture in captures:
        for finding in find(capture):
            first = merged.get(finding.id)
            if first is None:
                merged[finding.id] = finding
            else:
                keys = tuple(dict.fromkeys((*first.keys, *finding.keys)))
                merged[finding.id] = replace(
                    first, keys=keys, count=max(first.count, finding.count)
                )
    found = [*merged.values(), *ranks(captures)]
    return sorted(found, key=lambda finding: (ORDER.index(finding.kind), -finding.count))


def count_line(findings: Sequence[Finding]) -> str:
    """Return how many findings there are of each kind, in words.

    >>> count_line([])
    'no problems found'
    """
    counts = Counter(finding.kind for finding in findings)
    parts = []
    for kind in ORDER:
        number = counts[kind]
        if number:
            word = _WORDS.get(kind, kind)
            plural = _PLURALS.get(kind, f"{word}s" if word == kind else word)
            parts.append(f"{number} {plural if number > 1 else word}")
    return ", ".join(parts) or "no problems found"


_PLURALS = {
    "break": "graph breaks",
    "limit": "limits hit",
    "difference": "differences from eager",
    "hook": "hooks too late",
    "ranks": "differences between processes",
    "slow": "slow compiles",
    "precision": "notes on precision",
    "cache": "notes on caches",
    "cached": "caches bypassed",
    "cudagraph": "CUDA graphs skipped",
}
_WORDS = {
    "break": "graph break",
    "nan": "NaN or Inf",
    "difference": "difference from eager",
    "cached": "cache bypassed",
    "failed": "failed to compile",
    "nothing": "nothing compiled",
    "limit": "limit hit",
    "ranks": "difference between processes",
    "hook": "hook too late",
    "eager": "not compiled",
    "cudagraph": "CUDA graph skipped",
    "slow": "slow compile",
    "memory": "much kept for backward",
    "precision": "note on precision",
    "cache": "note on caches",
}


NOTES = ("precision", "cache")
"""The kinds that say what is worth knowing, and ask for no change."""


def name_of(kind: str) -> str:
    """Return what a kind is called.

    >>> name_of("break"), name_of("recompile")
    ('graph break', 'recompile')
    """
    return _WORDS.get(kind, kind)


def _timed(finding: Finding, seconds: dict[str, float]) -> Finding:
    known = [seconds[key] for key in dict.fromkeys(finding.keys) if key in seconds]
    if not known or finding.cost.seconds is not None:
        return finding
    return replace(finding, cost=replace(finding.cost, seconds=round(sum(known), 3)))
