# SPDX-License-Identifier: Apache-2.0
"""Lookup from a kernel's call to the nodes that it computes, and so to the user's lines.

Inductor names nodes by their origin, and a name can refer to different nodes in different stages.
Names in a forward pass refer to the captured graph; those in a backward pass refer to its own
graphs, except for nodes that go back to the captured graph.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from .capture import Capture
from .events import CompileKey, ExternCall, Graph, KernelFile
from .nodes import Node


class Resolved(NamedTuple):
    """A node that a name in a program refers to."""

    name: str
    file: str
    """The dumped graph that contains it."""
    node: Node
    how: str
    """``exact``, or ``by name``."""


_LATE = ("after_post_grad", "before_post_grad")
_EARLY = ("captured", "pre_insert_deferred_runtime_asserts", "compiled_autograd")


def stages_of(program: Graph) -> tuple[str, ...]:
    """Return the stages to search for the nodes of a program's comments, in order.

    >>> stages_of(Graph(CompileKey("0/0"), "inductor_forward", "p.py", ""))[:3]
    ('captured', 'pre_insert_deferred_runtime_asserts', 'compiled_autograd')
    >>> stages_of(Graph(CompileKey("0/0"), "inductor_backward", "p.py", ""))[:2]
    ('after_post_grad_backward', 'after_post_grad')
    """
    direction = program.stage.partition("_")[2]
    late = [stage for name in _LATE for stage in (f"{name}_{direction}", name)]
    middle = [direction, "joint", "forward", "backward", "inference"]
    order = [*late, *middle, *_EARLY] if direction == "backward" else [*_EARLY, *middle, *late]
    return tuple(dict.fromkeys(order))


def resolve(capture: Capture, call: KernelFile | ExternCall) -> tuple[Resolved, ...]:
    """Return the nodes that a kernel or a library call computes.

    If Inductor recorded the nodes of its own graph, these are returned, else those that its
    comments name.  Names that no dumped graph contains are left out.
    """
    program = next((g for g in capture.of(Graph) if g.file == call.program), None)
    if program is None:
        return ()
    graphs = _graphs(capture, program.key)
    direction = program.stage.partition("_")[2]
    own = [f"{_LATE[0]}_{direction}", _LATE[0]]
    exact = _found(capture, graphs, call.exact, own, "exact")
    return exact or _found(capture, graphs, call.nodes, stages_of(program), "by name")


def resolve_by_name(capture: Capture, call: KernelFile | ExternCall) -> tuple[Resolved, ...]:
    """Return the nodes that the names in a program's comments refer to."""
    program = next((g for g in capture.of(Graph) if g.file == call.program), None)
    if program is None:
        return ()
    graphs = _graphs(capture, program.key)
    return _found(capture, graphs, call.nodes, stages_of(program), "by name")


def _graphs(capture: Capture, key: CompileKey) -> Mapping[str, list[str]]:
    """Return the files of a compile's graphs, by stage."""
    found: dict[str, list[str]] = {}
    for graph in capture.of(Graph):
        if graph.key == key and graph.file not in found.setdefault(graph.stage, []):
            found[graph.stage].append(graph.file)
    return found


def _found(
    capture: Capture,
    graphs: Mapping[str, list[str]],
    names: Sequence[str],
    stages: Sequence[str],
    how: str,
) -> tuple[Resolved, ...]:
    result = []
    files = [file for stage in stages for file in graphs.get(stage, ())]
    tables = [(file, capture.nodes_by_name(file)) for file in files]
    for name in names:
        found = [(file, table[name]) for file, table in tables if name in table]
        # Prefer a node with a place: nodes inserted by a pass have none.
        found.sort(key=lambda pair: pair[1].place is None)
        if found:
            result.append(Resolved(name, *found[0], how))
    return tuple(result)
