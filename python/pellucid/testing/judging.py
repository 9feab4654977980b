# SPDX-License-Identifier: Apache-2.0
"""A capture compared with what a test expects of it, in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Collection, Sequence

from pellucid.brief import counted
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Frame
from pellucid.findings import Finding, find_all
from pellucid.findings.counts import BREAKS, RECOMPILES, Counts, counts_of
from pellucid.findings.kinds import KINDS
from pellucid.findings.kinds.nothing import KIND as NOTHING
from pellucid.findings.summary import compiled_lines, listed
from pellucid.report import report

_MOST = 10
"""The number of findings in an error."""


@dataclass(frozen=True)
class Expected:
    """What a test expects of a capture."""

    breaks: int = 0
    recompiles: int = 0
    graphs: int | None = None
    allowed: Collection[str] = ()

    def __post_init__(self) -> None:
        allowed = [self.allowed] if isinstance(self.allowed, str) else self.allowed
        object.__setattr__(self, "allowed", frozenset(allowed))
        for kind in self.allowed:
            if kind not in KINDS:
                raise ValueError(f"allow: unknown kind of finding: {kind!r}")

    def differences(self, counts: Counts) -> dict[str, tuple[int, int]]:
        """Return each number that differs: expected and actual, by the name of the argument."""
        graphs = self.graphs
        if graphs is None:
            graphs = counts.graphs if self.breaks or self.recompiles else 1
        numbers = {
            "breaks": (self.breaks, counts.breaks),
            "recompiles": (self.recompiles, counts.recompiles),
            "graphs": (graphs, counts.graphs),
        }
        return {name: pair for name, pair in numbers.items() if pair[0] != pair[1]}

    def forbids(self, finding: Finding) -> bool:
        """Return true if a finding means that something did not compile, or not correctly."""
        kind = KINDS[finding.kind]
        uncompiled = kind.judged != "" and finding.kind not in (*BREAKS, *RECOMPILES)
        return uncompiled and finding.kind not in self.allowed


def told(
    captures: Sequence[Capture], expected: Expected, error: BaseException | None = None
) -> str:
    """Return how a capture differs from what is expected, in words; empty if it does not.

    If it differs, its page is written.  If the program raised an error, the numbers are not final:
    only what exceeds them counts.
    """
    findings = find_all(captures)
    counts = counts_of(captures, findings)
    numbers = expected.differences(counts)
    if error is not None:
        numbers = {n: pair for n, pair in numbers.items() if n != "graphs" and pair[0] < pair[1]}
        # That nothing was compiled is a result of the error, not its cause.
        findings = [finding for finding in findings if finding.kind != NOTHING.name]
    wrong = [finding for finding in findings if _is_wrong(finding, expected, numbers)]
    if not (numbers or wrong):
        return ""
    lines = [_headline(numbers, wrong, error), ""]
    lines += [line.text for line in listed(wrong, most=_MOST)]
    if len(wrong) > _MOST:
        lines.append(f"   and {len(wrong) - _MOST} more, on the page")
    lines += [*([""] if wrong else []), *compiled_lines(captures)]
    if "graphs" in numbers and _was_reset(captures):
        lines.append(
            "torch.compiler.reset() was called during the calls; it discards compiled code."
        )
    if error is None and not any(map(expected.forbids, wrong)):
        accepted = ", ".join(f"{name}={actual}" for name, (_, actual) in numbers.items())
        lines.append(f"If this is intended, pass {accepted} to assert_compiles.")
    return "\n".join([*lines, *where_to_look(captures[0].directory)])


def where_to_look(directory: Path) -> Sequence[str]:
    """Write the page of a capture; return how to open it and how to list its findings."""
    return (f"Open {report(directory)}", f"or run: pellucid explain {directory}")


def _is_wrong(finding: Finding, expected: Expected, differs: Collection[str]) -> bool:
    if finding.kind in BREAKS:
        return "breaks" in differs or "graphs" in differs
    if finding.kind in RECOMPILES:
        return "recompiles" in differs or "graphs" in differs
    return expected.forbids(finding)


def _was_reset(captures: Sequence[Capture]) -> bool:
    """Return true if functions were compiled before and after a reset of torch's caches."""
    return any(len({frame.key.epoch for frame in c.of(Frame)}) > 1 for c in captures)


def _headline(
    numbers: dict[str, tuple[int, int]], wrong: Sequence[Finding], error: BaseException | None
) -> str:
    if error is not None:
        return f"the call raised {type(error).__name__}"
    if not numbers:
        return f"it does not compile: {_kinds(wrong)}"
    words = {"breaks": "graph break", "recompiles": "recompile", "graphs": "graph"}
    wanted = ", ".join(counted(pair[0], words[name]) for name, pair in numbers.items())
    actual = ", ".join(counted(pair[1], words[name]) for name, pair in numbers.items())
    return f"expected {wanted}; got {actual}"


def _kinds(findings: Sequence[Finding]) -> str:
    return ", ".join(dict.fromkeys(KINDS[finding.kind].words for finding in findings))
