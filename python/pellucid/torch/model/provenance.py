# SPDX-License-Identifier: Apache-2.0
"""From a kernel's call to the nodes that it computes, and so to the user's lines.

Inductor names nodes by where they first came from, and a name may stand for other nodes in other
stages.  Those of a forward pass are from the captured graph; those of a backward pass are of its
own graphs, but for what goes back to the captured one.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from .capture import Capture
from .events import CompileKey, ExternCall, Graph, KernelFile
from .nodes import Node


class Resolved(NamedTuple):
    """A node for which a name of a program stands."""

    name: str
    file: str
    """The dumped graph in which it was found."""
    node: Node
    how: str
    """``exact``, or ``by name``."""


_LATE = ("after_post_grad", "before_post_grad")
_EARLY = ("captured", "pre_insert_deferred_runtime_asserts", "compiled_autograd")


def stages_of(program: Graph) -> tuple[str, ...]:
    """Return the stages in which the nodes of a program's comments are looked for, in order.

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
    """Return the nodes that a kernel, or one call of a library's, computes.

    Where Inductor has told the nodes of its own graph these come, else those that its comments
    name.  A name that no dumped graph has is left out.
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
    """Return the nodes for which the names in a program's comments stand."""
    program = next((g for g in capture.of(Graph) if g.file == call.program), None)
    if program is None:
        return ()
    graphs = _graphs(capture, program.key)
    return _found(capture, graphs, call.nodes, stages_of(program), "by name")


def _graphs(capture: Capture, key: CompileKey) -> Mapping[str, list[str]]:
    """The files of a compile's graphs, by stage."""
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
        # One that tells its line is preferred: what a pass has put in has none.
        found.sort(key=lambda pair: pair[1].place is None)
        if found:
            result.append(Resolved(name, *found[0], how))
    return tuple(result)
