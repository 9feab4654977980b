# SPDX-License-Identifier: Apache-2.0
"""A capture as data: loaded from a dump, or the current state of an open session."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence, TypeVar

from pellucid.brief import counted
from pellucid.shown import Shown

from .dynamo_names import renamed
from .events import CacheEntry, CompileKey, Frame, Graph, Place, Skipped, Span, Times
from .graph_text import nodes_of_text
from .nodes import Node, Nodes, nodes_from_bytes

NODES = "nodes.json.gz"
"""The dump's file with the nodes of its graphs."""
PAGE, FINDINGS, TRIALS = "page.html", "findings.json", "trials.json"
"""The default names of the files that a report of a dump writes."""

E = TypeVar("E")


def first_graphs(graphs: Iterable[Graph]) -> list[Graph]:
    """Return the compiled graphs, each once, however many stages it has.

    These are the graphs that Dynamo captured.  If a compile has none (it was loaded, or AOTAutograd
    was called directly), they are those of the stage with the most graphs, or of the first such
    stage.

    >>> key, other = CompileKey("0/0"), CompileKey(None)
    >>> stages = [(key, "captured"), (key, "joint"), (other, "forward"), (other, "backward")]
    >>> graphs = [Graph(key, stage, f"{key}{stage}", "") for key, stage in stages]
    >>> [graph.stage for graph in first_graphs(graphs)]
    ['captured', 'forward']
    """
    stages: dict[CompileKey, dict[str, dict[str, Graph]]] = {}
    for graph in graphs:
        stages.setdefault(graph.key, {}).setdefault(graph.stage, {})[graph.file] = graph
    return [
        graph
        for by_stage in stages.values()
        for graph in (by_stage.get("captured") or max(by_stage.values(), key=len)).values()
    ]


def count_graphs(graphs: Iterable[Graph]) -> int:
    """Return the number of compiled graphs, as :func:`first_graphs` returns them."""
    return len(first_graphs(graphs))


def refused(capture: Any) -> dict[CompileKey, str]:
    """Return the compiles of a capture or session that raised an error, and the error's class.

    torch may have generated their code, but it never runs.
    """
    raised = (event for event in capture.of(Skipped) if event.raised and event.key.id is not None)
    return {event.key: event.kind for event in raised}


def place_of_versions(frames: Sequence[Frame]) -> Place:
    """Return the place of a function from its compiled versions.

    If a wrapper's code is compiled for several functions, the place names the wrapper.
    """
    first = frames[0]
    if len({frame.place.function for frame in frames}) > 1 and first.wrapper:
        return replace(first.place, function=renamed(first.place.function, first.wrapper))
    return first.place


def what_is_in(events: Any) -> str:
    """Return the numbers of functions, graphs and breaks of a capture or session, for its repr."""
    frames, graphs = len(events.of(Frame)), count_graphs(events.of(Graph))
    return f"{counted(frames, 'frame')}, {counted(graphs, 'graph')}"


@dataclass(frozen=True, repr=False)
class Capture(Shown):
    """One capture: its events in order, and its files.

    Events do not repeat what is in a file of the dump: :meth:`text` returns the text of a graph,
    and :meth:`nodes` its nodes.
    """

    directory: Path
    schema: int
    """The version of the dump's format."""
    versions: Mapping[str, str]
    """The versions of Python, torch and everything else that affected the capture."""
    configuration: Mapping[str, str]
    """The settings of torch that did not have their default value."""
    events: tuple[Any, ...]
    """Instances of the classes of :mod:`~pellucid.dump.model.events`, in order."""
    caches: Mapping[int, tuple[CacheEntry, ...]]
    """The compiled versions of each function, by its number (:attr:`.Frame.function`)."""
    files: tuple[str, ...] = ()
    """The names of the dump's files."""
    times: tuple[Times, ...] = ()
    spans: tuple[Span, ...] = ()
    rank: int | None = None
    """The rank of the process in a distributed job; None outside a distributed job."""
    world_size: int | None = None
    process: str = ""
    """The child process, named like its directory; empty for the first process."""
    command: tuple[str, ...] = ()
    """The script, or ``-m`` and the module, with its arguments; empty if unknown."""
    folder: str = ""
    """The working directory of the program."""
    started: tuple[str, ...] = ()
    """The same as :attr:`command` for the process that started all others of the run."""
    started_in: str = ""
    """The working directory of that process."""
    date: str = ""
    """The time when the capture began, in UTC, to the minute; empty if unknown."""
    others: tuple[str, ...] = ()
    """The captures of other ranks and processes, as paths below this one's directory."""
    made_nodes: Nodes | None = field(default=None, repr=False, compare=False)
    """The nodes of the graphs, if the capture is still in memory."""

    def __repr__(self) -> str:
        return f"<Capture in {self.directory}: {what_is_in(self)}>"

    def of(self, kind: type[E], key: CompileKey | None = None) -> list[E]:
        """Return the events of one kind, in order: all of them, or those of one compile."""
        return list(self._tables.get((kind, key), ()))

    @functools.cached_property
    def _tables(self) -> dict[tuple[type, CompileKey | None], list[Any]]:
        found: dict[tuple[type, CompileKey | None], list[Any]] = {}
        for event in self.events:
            for key in {None, getattr(event, "key", None)}:
                found.setdefault((type(event), key), []).append(event)
        return found

    def text(self, file: str) -> str:
        """Return the text of one of the dump's files; empty if there is no such file."""
        if file not in self._names:
            return ""
        with contextlib.suppress(OSError):
            return (self.directory / file).read_text(encoding="utf-8", errors="replace")
        return ""

    def nodes(self, file: str) -> tuple[Node, ...]:
        """Return the nodes of a dumped graph, in the order of its lines.

        A dump of schema 1 has no table of nodes, so they are parsed from the text of the graph.
        """
        if file not in self._nodes and self.made_nodes is None and self.schema == 1:
            return self._read_nodes(file)
        return tuple(self._nodes.get(file, ()))

    def _read_nodes(self, file: str) -> tuple[Node, ...]:
        if file not in self._read:
            graphs = {g.file for g in self.of(Graph) if not g.is_program}
            self._read[file] = nodes_of_text(self.text(file)) if file in graphs else ()
        return self._read[file]

    @functools.cached_property
    def spans_by_key(self) -> Mapping[CompileKey, tuple[Span, ...]]:
        """Return the spans of each compile, in order."""
        found: dict[CompileKey, list[Span]] = {}
        for span in self.spans:
            found.setdefault(span.key, []).append(span)
        return {key: tuple(spans) for key, spans in found.items()}

    @functools.cached_property
    def _read(self) -> dict[str, tuple[Node, ...]]:
        return {}

    def nodes_by_name(self, file: str) -> Mapping[str, Node]:
        """Return the nodes of a dumped graph by name, without nodes of nested graphs."""
        if file not in self._by_name:
            found = {node.name: node for node in self.nodes(file) if not node.graph}
            self._by_name[file] = found
        return self._by_name[file]

    @functools.cached_property
    def _by_name(self) -> dict[str, Mapping[str, Node]]:
        return {}

    @functools.cached_property
    def memory(self) -> dict[tuple[str, Any], Any]:
        """Return what has been read from the program's text, for all who read it."""
        return {}

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.files)

    @functools.cached_property
    def _nodes(self) -> Nodes:
        if self.made_nodes is not None:
            return self.made_nodes
        with contextlib.suppress(OSError, ValueError):
            return nodes_from_bytes((self.directory / NODES).read_bytes())
        return {}
