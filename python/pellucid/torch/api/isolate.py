# SPDX-License-Identifier: Apache-2.0
"""Which of the operations that one kernel of Inductor's computes is the one that parts.

Only what a kernel writes can be seen.  So its operations are compiled again, alone and to keep what
each of them makes, and run on what the graph has computed.
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
    """Return the first node of a kernel whose result parts when the kernel is to keep it.

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
    kept = [node for node in inside if _tensor(made, node.name) is not None]
    results = _run(graph, inside, kept, made, inputs) if len(kept) > 1 else None
    for node, result in zip(kept, results or ()):
        expected = _tensor(made, node.name)
        if expected is not None and tolerance.part_values(expected, result):
            return str(node.name)
    return None


def _tensor(made: Mapping[str, Made], name: str) -> torch.Tensor | None:
    values = made[name].values if name in made else []
    return values[0] if len(values) == 1 else None


def _run(
    graph: Any,
    inside: Sequence[Any],
    kept: Sequence[Any],
    made: Mapping[str, Made],
    inputs: Mapping[str, Any],
) -> Sequence[torch.Tensor] | None:
    """Compile the operations of a kernel alone, and run them on what the graph has computed."""
    cut, values = torch.fx.Graph(), []
    copies: dict[Any, Any] = {}

    def copied(node: Any) -> Any:
        if node in copies:
            return copies[node]
        if node.op == "get_attr":
            copies[node] = cut.node_copy(node)
        else:
            value = inputs.get(node.name)
            copies[node] = cut.placeholder(node.name)
            values.append(_tensor(made, node.name) if value is None else value)
        return copies[node]

    for node in inside:
        copies[node] = cut.node_copy(node, copied)
    cut.output(tuple(copies[node] for node in kept))
    if any(value is None for value in values):
        return None
    compiled = staging.program_of(torch.fx.GraphModule(graph, _in_order(cut)), values)
    if compiled is None:
        return None
    with torch.no_grad():
        return list(compiled(*values))


def _in_order(cut: torch.fx.Graph) -> torch.fx.Graph:
    """Put the inputs of a graph first, as graphs have them."""
    first = next(iter(cut.nodes))
    for node in [node for node in cut.nodes if node.op == "placeholder"][::-1]:
        if node is not first:
            first.prepend(node)
            first = node
    return cut
