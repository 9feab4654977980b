# SPDX-License-Identifier: Apache-2.0
"""The nodes of a graph as plain values, and the file that stores those of all graphs."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass, fields
from typing import Any, Mapping, Sequence

from .events import Place
from .modules import ModulePath


@dataclass(frozen=True)
class Node:
    """One operation, input or result of a dumped graph."""

    name: str
    op: str
    """torch.fx's name for it: ``placeholder``, ``get_attr``, ``call_function``, ``output``, …."""
    target: str
    """The function or attribute, as the file writes it."""
    line: int
    """Its line in the dumped file; for an input, the line of its declaration."""
    place: Place | None = None
    """The user's line that the node computes, if torch reports it."""
    shape: tuple[str, ...] | None = None
    """The sizes as torch prints them, symbols included; None if it is not a tensor."""
    dtype: str = ""
    device: str = ""
    stride: tuple[str, ...] | None = None
    args: tuple[str, ...] = ()
    """The names of the nodes that it takes, each once, in order."""
    module: ModulePath = ()
    """The user's modules in which it is computed, outermost first, each with its class."""
    graph: str = ""
    """The nested graph that contains it, ``cond_true_0``; empty for the outermost graph."""


Nodes = Mapping[str, Sequence[Node]]
"""The nodes of each graph, by the name of its file."""

_FIELDS = tuple(field.name for field in fields(Node))


def nodes_to_bytes(nodes: Nodes) -> bytes:
    """Return the content of the node file: gzipped JSON, deterministic.

    A graph is a table with one row per node; files and modules, which many nodes share, are stored
    once.
    """
    places: dict[tuple[str, str], int] = {}
    modules: dict[ModulePath, int] = {}
    graphs = {}
    for file, found in nodes.items():
        rows = []
        for node in found:
            row: list[Any] = [getattr(node, name) for name in _FIELDS]
            if node.place is not None:
                where = (node.place.file, node.place.function)
                number = places.setdefault(where, len(places))
                row[_FIELDS.index("place")] = [number, node.place.line]
            row[_FIELDS.index("module")] = modules.setdefault(node.module, len(modules))
            rows.append(row)
        graphs[file] = rows
    record = {"fields": _FIELDS, "places": list(places), "modules": list(modules), "graphs": graphs}
    text = json.dumps(record, ensure_ascii=True, separators=(",", ":"))
    return gzip.compress(text.encode("ascii"), 6, mtime=0)


def nodes_from_bytes(data: bytes) -> dict[str, tuple[Node, ...]]:
    """Return the nodes of each graph; unknown fields are left out.

    Raises:
        ValueError: the data is not such a file.
    """
    try:
        record = json.loads(gzip.decompress(data))
        places, modules = record["places"], [_path(path) for path in record["modules"]]
        known = [name for name in record["fields"] if name in _FIELDS]
        columns = [record["fields"].index(name) for name in known]
        graphs = {}
        for file, rows in record["graphs"].items():
            found = []
            for row in rows:
                values = dict(zip(known, (row[column] for column in columns)))
                if values.get("place") is not None:
                    number, line = values["place"]
                    values["place"] = Place(places[number][0], line, places[number][1])
                for name in ("shape", "stride"):
                    values[name] = None if values[name] is None else tuple(values[name])
                values["args"] = tuple(values["args"])
                values["module"] = modules[values["module"]]
                found.append(Node(**values))
            graphs[str(file)] = tuple(found)
        return graphs
    except _MALFORMED as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


_MALFORMED = (
    *(OSError, EOFError, zlib.error),
    *(LookupError, TypeError, AttributeError, RecursionError),
)


def _path(path: Any) -> ModulePath:
    return tuple((str(name), str(kind)) for name, kind in path)
