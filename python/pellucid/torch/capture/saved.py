# SPDX-License-Identifier: Apache-2.0
"""The tensors that a forward graph saves for its backward graph: an event per pair of graphs."""

from __future__ import annotations

from typing import Any

from pellucid.dump.model.events import CompileKey, Graph, Saved
from pellucid.dump.model.saved import returned_names, saved_by
from pellucid.dump.store.session import Session

from ..taps import graph_hooks
from .process import Process


def keep_sources(session: Session, key: CompileKey, module: Any | None) -> None:
    """Store the sources of the inputs of the graph that Dynamo captured."""
    if module is not None:
        session.input_sources[key] = graph_hooks.sources_of_inputs(module)


def add_saved(session: Session, backward: Graph, symbols: dict[str, int], process: Process) -> None:
    """Record the tensors saved for a backward graph that was just written."""
    nodes = session.nodes.get(backward.file, ())
    wanted = {node.name for node in nodes if node.op == "placeholder"}
    for graph in reversed(session.of(Graph, backward.key)):
        if (graph.stage, graph.subgraph) != ("forward", backward.subgraph):
            continue
        forward = session.nodes.get(graph.file, ())
        if wanted.isdisjoint(node.name for node in forward):
            continue
        given, tensors = saved_by(
            forward,
            nodes,
            returned_names(graph.text),
            symbols,
            session.input_sources.get(backward.key, ()),
            process.computed_again(),
        )
        event = Saved(backward.key, graph.file, backward.file, given, tensors)
        if event not in session.of(Saved, backward.key):
            session.record(event)
        return
