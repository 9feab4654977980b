# SPDX-License-Identifier: Apache-2.0
"""Which of the operations that one kernel of Inductor's computes is the one that parts.

Only what a kernel writes can be seen.  So the operations of the kernel are compiled again, up to
one of them at a time, and run on what the graph has computed.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import torch

from ..taps import staging
from .closeness import Tolerance
from .recording import Made


def first_in_kernel(
    graph: Any,
    names: Sequence[str],
    made: Mapping[str, Made],
    inputs: Mapping[str, Any],
    tolerance: Tolerance,
) -> str | None:
    """Return the first node of a kernel whose result parts when the kernel ends with it.

    Args:
        graph: the graph module from which the program was generated.
        names: the nodes that the kernel computes.
        made: what the nodes of the graph have made when it ran as a graph, by name.
        inputs: what the graph was given, by name.
        tolerance: how far two values may be apart.

    Returns:
        The node, or None where the kernel is right alone, or cannot be compiled apart.
    """
    inside = [node for node in graph.graph.nodes if node.name in set(names)]
    tried = [node for node in inside if _tensor(made, node.name) is not None]
    low, high = 0, len(tried) - 1
    if high < 1 or not _parts(graph, inside, tried[high], made, inputs, tolerance):
        return None
    while low < high:
        middle = (low + high) // 2
        if _parts(graph, inside, tried[middle], made, inputs, tolerance):
            high = middle
        else:
            low = middle + 1
    return str(tried[high].name)


def _tensor(made: Mapping[str, Made], name: str) -> torch.Tensor | None:
    values = made[name].values if name in made else []
    return values[0] if len(values) == 1 else None


def _parts(
    graph: Any,
    inside: Sequence[Any],
    last: Any,
    made: Mapping[str, Made],
    inputs: Mapping[str, Any],
    tolerance: Tolerance,
) -> bool:
    """Whether the program of a kernel's operations up to one of them parts from the graph there."""
    expected = _tensor(made, last.name)
    if expected is None:
        return False
    cut, values = torch.fx.Graph(), []
    copies: dict[Any, Any] = {}

    def copied(node: Any) -> Any:
        if node in copies:
            return copies[node]
        if node.op == "get_attr":
            copies[node] = cut.node_copy(node, lambda other: copies[other])
        else:
            value = inputs.get(node.name)
            copies[node] = cut.placeholder(node.name)
            values.append(_tensor(made, node.name) if value is None else value)
        return copies[node]

    needed = _needed(inside, last)
    for node in inside:
        if node in needed:
            copies[node] = cut.node_copy(node, copied)
    cut.output((copies[last],))
    if any(value is None for value in values):
        return False
    module = torch.fx.GraphModule(graph, _in_order(cut))
    compiled = staging.program_of(module, values)
    if compiled is None:
        return False
    with torch.no_grad():
        result = compiled(*values)[0]
    return result.shape != expected.shape or tolerance.part(expected, result)


def _needed(inside: Sequence[Any], last: Any) -> set[Any]:
    """The operations of a kernel that one of them is computed from, itself among them."""
    within, pending, needed = set(inside), [last], set()
    while pending:
        node = pending.pop()
        if node in within and node not in needed:
            needed.add(node)
            pending += node.all_input_nodes
    return needed


def _in_order(cut: torch.fx.Graph) -> torch.fx.Graph:
    """Put the inputs of a graph first, as graphs have them."""
    first = next(iter(cut.nodes))
    for node in [node for node in cut.nodes if node.op == "placeholder"][::-1]:
        if node is not first:
            first.prepend(node)
            first = node
    return cut
