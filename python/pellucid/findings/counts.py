# SPDX-License-Identifier: Apache-2.0
"""The counts of a capture.  Every view shows these, and none counts for itself.

A *compiled function* is a function with at least one compiled version.  A *version* is one compile
of a function from its start, including its resume functions.  A *frame* is one unit of compilation:
a version or a resume function.  A *graph break* is a line where a graph ends for one cause, however
many compiles hit it.  A *recompile* is a compile caused by a failed guard; if the same call
recompiles the resume functions for the same cause, they count as part of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Sequence

from pellucid.brief import counted
from pellucid.dump.model.capture import Capture, count_graphs, refused
from pellucid.dump.model.events import Frame, Graph
from pellucid.dump.model.names import is_resumed

from .finding import Finding
from .lines import compiled_lines
from .source import Program, root_of

BREAKS, RECOMPILES = ("break", "disabled"), ("recompile",)
"""The kinds of findings that count as graph breaks and as recompiles."""


@dataclass(frozen=True)
class Counts:
    """How much was compiled, and how often it was interrupted or repeated."""

    functions: int
    """The number of functions with at least one compiled version."""
    versions: int
    """The number of their versions; each recompile of a function makes one."""
    frames: int
    """The number of versions and resume functions."""
    graphs: int
    """The number of graphs."""
    breaks: int
    """The number of lines that break a graph."""
    recompiles: int
    """The number of recompiles."""
    lines: int
    """The number of lines of the compiled functions that are compiled."""
    left_out: int
    """The number of their lines that Python runs."""

    @property
    def compiled(self) -> str:
        """Return what was compiled, in words.

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
        """Return how many lines are compiled, in words; empty if the capture does not know."""
        whole = self.lines + self.left_out
        return f"{self.lines} of {counted(whole, 'line')} compiled" if whole else ""


def counts_of(captures: Sequence[Capture], findings: Sequence[Finding]) -> Counts:
    """Return the counts of some captures and their findings.

    Ranks compile the same functions, so for each function the rank with the most versions counts.
    """
    versions = versions_of(captures)
    graphs = ([g for g in c.of(Graph) if g.key not in refused(c)] for c in captures)
    compiled, of = compiled_lines(captures) if versions else (0, 0)
    return Counts(
        functions=len(versions),
        versions=sum(versions.values()),
        frames=sum(len(installed(capture)) for capture in captures),
        graphs=sum(map(count_graphs, graphs)),
        breaks=sum(finding.count for finding in findings if finding.kind in BREAKS),
        recompiles=sum(finding.count for finding in findings if finding.kind in RECOMPILES),
        lines=compiled,
        left_out=of - compiled,
    )


def installed(capture: Capture) -> list[Frame]:
    """Return the frames of a capture whose compile raised no error."""
    not_run = refused(capture)
    return [frame for frame in capture.of(Frame) if frame.key not in not_run]


def versions_of(captures: Sequence[Capture]) -> dict[tuple[str, int, str], int]:
    """Return each compiled function (file, line, name) and its number of versions.

    The name of a wrapped function includes its wrapper: ``f, inside wrapper``.
    """
    found: dict[tuple[str, int, str], int] = {}
    for capture in captures:
        program = Program(capture)
        frames = installed(capture)
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
            # Only resume functions of this function were compiled: count those of one resume point.
            number = sum(numbers.values()) if function[1] else max(numbers.values())
            found[function] = max(number, found.get(function, 0))
    return found


def _is_whole(frame: Frame) -> bool:
    return not is_resumed(frame.place.function)
