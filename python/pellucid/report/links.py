# SPDX-License-Identifier: Apache-2.0
"""Which lines belong together: pieces of files, and edges between them.

An edge goes from what is nearer to the user to what was made of it: a user's line, a guard, a
transformed statement, a node, a node of a later stage, a call of a program, a kernel.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from pellucid.dump.model.dynamo_names import graphs_called, resumes_called

EXACT, BY_NAME, BY_LINE = 0, 1, 2
"""How an edge is known: torch or the proof says so; by the name of a node; by the user's line."""

Span = Tuple[int, int, int]
"""A file's number, its first line and its last (from 0)."""

_SOURCE_NODES = re.compile(r"^\s*# Topologically Sorted Source Nodes: \[(.*?)\]")
_SHORT_PLACE = re.compile(r"#\s*(\S+\.py):(\d+)(?:-(\d+))?  ")


@dataclass
class Links:
    """Pieces of files by number, and the edges between them with how they are known."""

    spans: Dict[Span, int] = field(default_factory=dict)
    edges: Dict[Tuple[int, int], int] = field(default_factory=dict)

    def add(self, upper: Span, lower: Span, how: int) -> None:
        """Add an edge; of two between the same pieces the surer one stays."""
        pair = (self._number(upper), self._number(lower))
        if how < self.edges.get(pair, BY_LINE + 1) and pair[0] != pair[1]:
            self.edges[pair] = how

    def _number(self, span: Span) -> int:
        return self.spans.setdefault(span, len(self.spans))


class Statements:
    """The statements of a Python text, by line (from 0)."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.first_last: Dict[int, Tuple[int, int]] = {}
        self.lines = lines
        try:
            tree = ast.parse("\n".join(lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                body: Any = getattr(node, "body", None)
                last = getattr(node, "end_lineno", None) or node.lineno
                if isinstance(body, list) and body:
                    last = max(node.lineno, body[0].lineno - 1)
                    while last > node.lineno and lines[last - 1].lstrip()[:1] in ("", "#"):
                        last -= 1
                for line in range(node.lineno - 1, last):
                    self.first_last[line] = (node.lineno - 1, last - 1)

    def at(self, line: int) -> Tuple[int, int]:
        """Return the first and last line of the statement on a line."""
        return self.first_last.get(line, (line, line))

    def after(self, line: int) -> Tuple[int, int]:
        """Return the statement on the first line of code from a line on."""
        for other in range(line, min(line + 40, len(self.lines))):
            if other in self.first_last and not self.lines[other].lstrip().startswith("#"):
                return self.first_last[other]
        return (line, line)


def source_comments(lines: Sequence[str]) -> Iterator[Tuple[int, Tuple[str, ...]]]:
    """Yield the line and the names of each comment of Inductor's that tells a call's nodes.

    >>> list(source_comments(["  # Topologically Sorted Source Nodes: [a, b], Original ATen: []"]))
    [(0, ('a', 'b'))]
    """
    for number, line in enumerate(lines):
        found = _SOURCE_NODES.match(line)
        if found is not None:
            yield number, tuple(name.strip() for name in found[1].split(",") if name.strip())


def short_places(lines: Sequence[str]) -> Iterator[Tuple[int, str, int, int]]:
    """Yield the line, the file's name and the user's lines of each comment."""
    for number, line in enumerate(lines):
        found = _SHORT_PLACE.search(line)
        if found is not None:
            yield number, found[1], int(found[2]), int(found[3] or found[2])


def graph_calls(lines: Sequence[str]) -> Iterator[Tuple[int, str]]:
    """Yield the line and the name of each compiled function that is called."""
    for number, line in enumerate(lines):
        for name in graphs_called(line):
            yield number, name


def resume_calls(lines: Sequence[str]) -> Iterator[Tuple[int, str]]:
    """Yield the line and the name of each resumed function that is called."""
    for number, line in enumerate(lines):
        for name in resumes_called(line):
            yield number, name


STAGES_BACKWARDS: List[str] = [
    *("after_post_grad_forward", "after_post_grad_backward", "after_post_grad"),
    *("forward", "backward", "inference", "joint", "captured"),
]
"""Where the name of a node is looked for, the latest stage first."""
