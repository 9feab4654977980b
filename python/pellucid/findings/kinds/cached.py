# SPDX-License-Identifier: Apache-2.0
"""``functools.lru_cache`` and ``cache`` in compiled code: torch ignores them."""

from __future__ import annotations

import ast
from typing import Iterable

from pellucid.dump.model.capture import Capture, first_graphs
from pellucid.dump.model.events import Frame, Graph, Place, Recompile

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program

_CACHES = ("lru_cache", "cache")


def bypassed_caches(capture: Capture, program: Program) -> list[Finding]:
    """Find cached functions whose body was traced: their cache is neither read nor filled."""
    places: dict[Place, None] = {}
    for graph in first_graphs(capture.of(Graph)):
        for node in capture.nodes(graph.file):
            if node.place is not None:
                places[node.place] = None
    for event in capture.of(Recompile):
        for failure in event.failures:
            if failure.place is not None:
                places[failure.place] = None
    # Most files have none, and parsing a library's takes long.
    cached = {
        file for file in {place.file for place in places} if _may_decorate(program.lines(file))
    }
    frames = {(frame.place.file, frame.place.function) for frame in capture.of(Frame)}
    found: dict[tuple[str, int], tuple[str, str]] = {}
    for place in places:
        function = program.function(place) if place.file in cached else None
        for decorator in function.decorator_list if function is not None else ():
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = getattr(called, "attr", None) or getattr(called, "id", "")
            if (
                name in _CACHES
                and function is not None
                and (place.file, function.name) not in frames
            ):
                found[place.file, function.lineno] = function.name, name
    result = []
    for (file, line), (function_name, cache) in found.items():
        at = Place(file, line, function_name)
        result.append(
            Finding(
                id=identify("cached", at, function_name),
                kind="cached",
                place=at,
                code=program.code(at),
                cause=f"the {cache} of `{function_name}` is ignored by compiled code: torch "
                "inlines its body, which runs on every call",
                remedy="call it outside the compiled function and pass the result in",
            )
        )
    return result


def _may_decorate(lines: Iterable[str]) -> bool:
    """Return true if a decorator of a file may be a cache; it ends at the line of its function."""
    inside = False
    for line in map(str.lstrip, lines):
        if line.startswith(("@", "def ", "async ", "class ")):
            inside = line[0] == "@"
        if inside and "cache" in line:
            return True
    return False


KIND = Kind(
    "cached",
    rank=150,
    means="Compiled code ignores a functools cache.",
    words="cache bypassed",
    many="caches bypassed",
    tone="warn",
    find=bypassed_caches,
)
