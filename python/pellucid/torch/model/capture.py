"""A capture as data: what a dump says, or what an open session knows so far."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, TypeVar

from .events import CacheEntry, Span, Times
from .nodes import Node, Nodes, nodes_from_bytes

NODES = "nodes.json.gz"
"""The side file of a dump that holds the nodes of its graphs."""

E = TypeVar("E")


@dataclass(frozen=True)
class Capture:
    """One capture: its events in order, and the files beside them.

    What lies in a file of the dump is not repeated in an event that was read back: the text of a
    graph is :meth:`text` of its file, its nodes are :meth:`nodes`.
    """

    directory: Path
    schema: int
    """The version of the dump's format."""
    versions: Mapping[str, str]
    """The versions of Python, torch and what else shaped the capture."""
    configuration: Mapping[str, str]
    """The settings of torch that were not at their default."""
    events: tuple[Any, ...]
    """Instances of the classes of :mod:`~pellucid.torch.model.events`, in order."""
    caches: Mapping[int, tuple[CacheEntry, ...]]
    """The compiled versions of each function, by its number (:attr:`.Frame.function`)."""
    files: tuple[str, ...] = ()
    """The names of the dump's files."""
    times: tuple[Times, ...] = ()
    spans: tuple[Span, ...] = ()
    rank: int | None = None
    """The rank of the process in a distributed job; None outside of one."""
    world_size: int | None = None
    process: str = ""
    """Which child process this is, as its directory says; empty for the first process."""
    others: tuple[str, ...] = ()
    """The captures of other ranks and processes, as paths below this one's directory."""
    made_nodes: Nodes | None = field(default=None, repr=False, compare=False)
    """The nodes of the graphs, where the capture is still in memory."""

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def text(self, file: str) -> str:
        """Return the text of one of the dump's files; empty when it is gone or no such file."""
        if file not in self._names:
            return ""
        with contextlib.suppress(OSError):
            return (self.directory / file).read_text(encoding="utf-8", errors="replace")
        return ""

    def nodes(self, file: str) -> tuple[Node, ...]:
        """Return the nodes of a dumped graph, in the order of its lines."""
        return tuple(self._nodes.get(file, ()))

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
