# SPDX-License-Identifier: Apache-2.0
"""The operations of kernels, inferred from their arguments if a program's text lacks them.

A program from a cache has no comments at its C++ kernels.  The arguments of such a kernel come from
the graph's inputs or from library calls, whose nodes are known: the kernel computes a node that
takes the same arguments and whose operation occurs in the kernel's name.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping, Sequence

from .nodes import Node

_NAMES = re.compile(r"\b[A-Za-z_]\w*\b")
_RESULT = re.compile(r"^\s*(\w+) = ")


def operation(target: str) -> str:
    """Return the name of an operator without its namespace and overload.

    >>> operation("torch.ops.aten.mm.default"), operation("operator.add")
    ('mm', 'add')
    """
    parts = target.split(".")
    return parts[-2] if len(parts) > 2 and parts[:2] == ["torch", "ops"] else parts[-1]


class Consumers:
    """The nodes of a graph by their arguments."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._of: dict[str, list[Node]] = {}
        self.names = set()
        for node in nodes:
            self.names.add(node.name)
            for name in node.args if node.op.startswith("call") else ():
                self._of.setdefault(name, []).append(node)

    def computed(self, kernel: str, given: Iterable[str]) -> list[str]:
        """Return the nodes that take one of the values and whose operation is in the kernel's name.

        >>> nodes = [Node("a", "placeholder", "a", 1), Node("m", "call_function",
        ...     "torch.ops.aten.relu.default", 2, args=("a",))]
        >>> Consumers(nodes).computed("cpp_fused_add_relu_3", ["a"])
        ['m']
        """
        found = (node for name in given for node in self._of.get(name, ()))
        return list(dict.fromkeys(node.name for node in found if operation(node.target) in kernel))

    def after(self, given: Iterable[str]) -> list[str]:
        """Return the nodes that take one of the values."""
        return list(dict.fromkeys(node.name for name in given for node in self._of.get(name, ())))


def given_to(text: str) -> list[str]:
    """Return the names in a call's arguments.

    >>> given_to("cpp_fused_0(primals_1, c_void_p(buf0.data_ptr()))")
    ['primals_1', 'c_void_p', 'buf0', 'data_ptr']
    """
    return list(dict.fromkeys(_NAMES.findall(text.partition("(")[2])))


def results_of(lines: Sequence[str], calls: Mapping[int, Sequence[str]]) -> dict[str, list[str]]:
    """Return the nodes of each buffer that a library call produces, by the lines of the calls."""
    found: dict[str, list[str]] = {}
    for line, nodes in calls.items():
        made = _RESULT.match(lines[line - 1]) if 0 < line <= len(lines) else None
        if made is not None:
            found[made[1]] = list(nodes)
    return found
