# SPDX-License-Identifier: Apache-2.0
"""The operation in one Inductor kernel that causes a difference.

Only a kernel's outputs can be observed.  So its operations are compiled separately, with every
result as an output, and run on the values that the graph computed.
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
    """Return the first node of a kernel whose result differs when the kernel keeps every result.

    Args:
        graph: the graph module from which the program was generated.
        names: the nodes that the kernel computes.
        made: the results of the graph's nodes when it ran as a graph, by name.
        inputs: the inputs of the graph, by name.
        tolerance: the allowed distance between two values.

    Returns:
        The node; None if the kernel is correct on its own, or cannot be compiled separately.
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
    """Compile the operations of a kernel separately, and run them on the graph's values."""
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
    """Move the inputs of a graph to its start, where they belong."""
    first = next(iter(cut.nodes))
    for node in [node for node in cut.nodes if node.op == "placeholder"][::-1]:
        if node is not first:
            first.prepend(node)
            first = node
    return cut
