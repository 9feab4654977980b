# SPDX-License-Identifier: Apache-2.0
"""The figures of a capture: every view shows these, and none counts for itself.

A *compiled function* is one of which torch compiled at least one version.  A *version* is one
compile of a function from its start; what resumes after a graph break is part of it.  A *frame* is
what torch compiles at a time: a version, or what resumes after a break.  A *graph break* is a line
at which a graph ends for one cause, however often it is compiled.  A *recompile* is one more
compile since a guard failed; what a call compiles again after a break, for the same cause, belongs
to it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Sequence

from pellucid.brief import counted
from pellucid.torch.model.capture import Capture, count_graphs
from pellucid.torch.model.events import Frame, Graph
from pellucid.torch.model.names import is_resumed

from .finding import Finding
from .lines import compiled_lines
from .source import Program, root_of

BREAKS, RECOMPILES = ("break", "disabled"), ("recompile",)
"""The kinds of findings that are breaks and recompiles: each is as many as its count."""


@dataclass(frozen=True)
class Counts:
    """How much was compiled, and how often that was cut or done again."""

    functions: int
    versions: int
    frames: int
    graphs: int
    breaks: int
    recompiles: int
    lines: int
    """How many lines of the compiled functions are compiled."""
    left_out: int
    """How many of their lines Python runs."""

    @property
    def compiled(self) -> str:
        """What was compiled, in words.

        >>> Counts(1, 1, 2, 1, 1, 0, 3, 1).compiled
        '1 function compiled, 1 graph, 3 of 4 lines compiled'
        >>> Counts(0, 0, 0, 0, 0, 0, 0, 0).compiled
        'nothing compiled'
        """
        if not self.functions:
            only = f"{counted(self.graphs, 'graph')} compiled without a function"
            return only if self.graphs else "nothing compiled"
        more = f" in {counted(self.versions, 'version')}" if self.versions > self.functions else ""
        words = f"{counted(self.functions, 'function')} compiled{more}"
        return ", ".join(filter(None, (words, counted(self.graphs, "graph"), self.of_lines)))

    @property
    def of_lines(self) -> str:
        """How many lines are compiled, in words; empty where the capture does not say."""
        whole = self.lines + self.left_out
        return f"{self.lines} of {counted(whole, 'line')} compiled" if whole else ""


def counts_of(captures: Sequence[Capture], findings: Sequence[Finding]) -> Counts:
    """Return the figures of some captures, with what was found in them.

    Ranks compile the same function: the one with the most versions counts.
    """
    versions = versions_of(captures)
    compiled, of = compiled_lines(captures) if versions else (0, 0)
    return Counts(
        functions=len(versions),
        versions=sum(versions.values()),
        frames=sum(len(capture.of(Frame)) for capture in captures),
        graphs=sum(count_graphs(capture.of(Graph)) for capture in captures),
        breaks=sum(finding.count for finding in findings if finding.kind in BREAKS),
        recompiles=sum(finding.count for finding in findings if finding.kind in RECOMPILES),
        lines=compiled,
        left_out=of - compiled,
    )


def versions_of(captures: Sequence[Capture]) -> dict[tuple[str, int, str], int]:
    """Return each compiled function (file, line, name), and in how many versions.

    A function that is wrapped has the name of its own and that of the code that torch compiled.
    """
    found: dict[tuple[str, int, str], int] = {}
    for capture in captures:
        program = Program(capture)
        frames = capture.of(Frame)
        parts: dict[tuple[str, int, str], Counter[int]] = {}
        whole = {(f.place.file, root_of(f)) for f in frames if _is_whole(f)}
        for frame in frames:
            name = root_of(frame)
            if _is_whole(frame) or (frame.place.file, name) not in whole:
                line = program.start(frame.place).line if _is_whole(frame) else 0
                inside = f", inside {frame.wrapper}" if frame.wrapper else ""
                function = frame.place.file, line, name + inside
                parts.setdefault(function, Counter())[frame.function] += 1
        for function, numbers in parts.items():
            # Of a function that was not compiled from its start, a part that resumes.
            number = sum(numbers.values()) if function[1] else max(numbers.values())
            found[function] = max(number, found.get(function, 0))
    return found


def _is_whole(frame: Frame) -> bool:
    return not is_resumed(frame.place.function)
