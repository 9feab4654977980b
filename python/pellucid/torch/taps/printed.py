# SPDX-License-Identifier: Apache-2.0
"""The text of the graph that was printed last, which torch is often about to print once more.

To print a graph of thousands of nodes costs more than all that a capture does with the text, and
most graphs go through a stage as they are: no symbolic size, no assertion to insert. Whether one is
still what it was is told by its nodes: each has the very objects from which it was printed. The
module around them may be another one; torch makes several of one graph.
"""

from __future__ import annotations

import operator
import sys
from typing import Any, Iterator

PRINTED_WITH = ("print_output", "include_stride", "include_device")
"""The options with which torch prints a graph for its trace, and a capture for its files."""


class Printed:
    """The graph that was printed last, and its text; held for as long as its compile takes."""

    def __init__(self) -> None:
        self._state: list[Any] = []
        self._text = ""

    def keep(self, graph: Any, text: str) -> None:
        """Keep a graph that was printed with the options of PRINTED_WITH, and its text."""
        try:
            self._state, self._text = [*_state(graph)], text
        except AttributeError:  # no graph module, or not as those are that we know
            self.forget()

    def forget(self) -> None:
        """Let go of the graph."""
        self._state, self._text = [], ""

    def text(self, make: Any) -> str | None:
        """Return what ``make()`` would print, where it prints the graph kept and nothing changed.

        Args:
            make: the function that torch calls for the payload of an event.
        """
        code = getattr(make, "__code__", None)
        if not self._state or code is None:
            return None
        if "print_readable" not in code.co_names or PRINTED_WITH not in code.co_consts:
            return None
        try:
            (cell,) = make.__closure__
            now = [*_state(cell.cell_contents)]
        except (AttributeError, TypeError, ValueError):  # it closes over something else, or nothing
            return None
        is_same = len(now) == len(self._state) and all(map(operator.is_, now, self._state))
        return self._text if is_same else None


def _state(graph: Any) -> Iterator[Any]:
    """The objects from which torch.fx prints a graph module, those of its children included."""
    yield sys.intern(graph._get_name())
    yield graph.graph._codegen
    for node in graph.graph.nodes:
        yield from (node, node.name, node.op, node.target, node.args, node.kwargs, node.type)
        yield from node.meta.values()
    for name, child in graph.named_children():
        if hasattr(child, "graph") and hasattr(child, "print_readable"):
            yield sys.intern(name)
            yield from _state(child)


PRINTED = Printed()
