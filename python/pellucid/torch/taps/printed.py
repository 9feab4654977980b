# SPDX-License-Identifier: Apache-2.0
"""The text of the most recently printed graph, which torch often prints again right after.

Printing a graph of thousands of nodes costs more than everything else that a capture does with the
text, and most graphs pass a stage unchanged: no symbolic sizes, no assertions to insert.  A graph
is unchanged if its nodes have the very objects it was printed from.  The module around them may
differ; torch creates several for one graph.
"""

from __future__ import annotations

import operator
import sys
from typing import Any, Iterator

PRINTED_WITH = ("print_output", "include_stride", "include_device")
"""The options with which torch prints a graph for its trace, and a capture for its files."""


class Printed:
    """The most recently printed graph and its text; kept until its compile ends."""

    def __init__(self) -> None:
        self._state: list[Any] = []
        self._text = ""

    def keep(self, graph: Any, text: str) -> None:
        """Store a graph that was printed with the options of PRINTED_WITH, and its text."""
        try:
            self._state, self._text = [*_state(graph)], text
        except AttributeError:  # not a graph module, or an unknown kind
            self.forget()

    def forget(self) -> None:
        """Drop the graph."""
        self._state, self._text = [], ""

    def text(self, make: Any) -> str | None:
        """Return what ``make()`` would print if it prints the stored graph, unchanged.

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
        except (AttributeError, TypeError, ValueError):  # its closure is something else, or missing
            return None
        is_same = len(now) == len(self._state) and all(map(operator.is_, now, self._state))
        return self._text if is_same else None


def _state(graph: Any) -> Iterator[Any]:
    """Yield the objects that torch.fx prints a graph module from, including its children's."""
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
