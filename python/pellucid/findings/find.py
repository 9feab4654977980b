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
from .costs import charged, compile_seconds
from .counts import BREAKS, RECOMPILES
from .cudagraphs import cudagraphs
from .differences import differences
from .eager import eager
from .failed import failed
from .fallbacks import fallbacks
from .filtered import filtered
from .finding import Cost, Finding
from .guarded import dropped_guards, failed_guards
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
    failed_guards,
    nothing,
    limits,
    stances,
    hooks,
    filtered,
    eager,
    nans,
    differences,
    breaks,
    recompiles,
    bypassed_caches,
    cudagraphs,
    fallbacks,
    slow,
    memory,
    precision,
    dropped_guards,
    caches,
)

ORDER = (
    "ranks",
    "failed",
    "guard",
    "nothing",
    "limit",
    "stance",
    "hook",
    "filtered",
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
    "fallback",
    "precision",
    "unguarded",
    "cache",
)
"""The kinds, the most expensive first; what is of one kind is in the order of its count."""


def find(capture: Capture) -> list[Finding]:
    """Return what a capture says went wrong, the most expensive first.

    The order, and all but :attr:`.Cost.seconds`, is the same from run to run; only whether a
    compile is slow is not.
    """
    program = Program(capture)
    found = _named_apart([finding for cause in CAUSES for finding in cause(capture, program)])
    told = charged(found, compile_seconds(capture))
    return sorted(told, key=lambda finding: (ORDER.index(finding.kind), -finding.count))


def _named_apart(found: Sequence[Finding]) -> list[Finding]:
    """Give findings of one id (several functions in one wrapper) ids of their own."""
    met: Counter[str] = Counter()
    result = []
    for finding in found:
        met[finding.id] += 1
        number = met[finding.id]
        result.append(replace(finding, id=f"{finding.id}:{number}") if number > 1 else finding)
    return result


def find_all(captures: Sequence[Capture]) -> list[Finding]:
    """Return the findings of the captures of several processes, the same one once."""
    merged: dict[str, Finding] = {}
    for capture in captures:
        for finding in find(capture):
            first = merged.get(finding.id)
            if first is None:
                merged[finding.id] = finding
            else:
                merged[finding.id] = _both(first, finding)
    found = [*merged.values(), *ranks(captures)]
    return sorted(found, key=lambda finding: (ORDER.index(finding.kind), -finding.count))


def _both(one: Finding, other: Finding) -> Finding:
    """One finding of two processes: each took its time."""
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
    """Return how many there are of each kind, in words: breaks, recompiles, else findings.

    >>> count_line([])
    'no problems found'
    """
    counts: Counter[str] = Counter()
    for finding in findings:
        kind = BREAKS[0] if finding.kind in BREAKS else finding.kind
        counts[kind] += finding.count if kind in (*BREAKS, *RECOMPILES) else 1
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
    "filtered": "guard filters",
    "fallback": "notes on kernels",
    "ranks": "differences between processes",
    "slow": "slow compiles",
    "precision": "notes on precision",
    "guard": "guards failed",
    "unguarded": "notes on dropped guards",
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
    "filtered": "guard filter",
    "fallback": "note on kernels",
    "eager": "not compiled",
    "cudagraph": "CUDA graph skipped",
    "slow": "slow compile",
    "memory": "much kept for backward",
    "precision": "note on precision",
    "guard": "guard failed",
    "unguarded": "note on dropped guards",
    "cache": "note on caches",
}


NOTES = ("fallback", "precision", "unguarded", "cache")
"""The kinds that say what is worth knowing, and ask for no change."""


def name_of(kind: str) -> str:
    """Return what a kind is called.

    >>> name_of("break"), name_of("recompile")
    ('graph break', 'recompile')
    """
    return _WORDS.get(kind, kind)
