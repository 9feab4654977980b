# SPDX-License-Identifier: Apache-2.0
"""What the scripts of the page read: a view as plain values, and its links as numbers."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Tuple

from . import chunks
from .files import USER
from .guards import readable
from .links import Links
from .model import Function, Page, View, kernels_of, pictures_of, rest_of
from .shrink import clean
from .timeline import trace_of


def chunks_of(page: Page) -> Iterator[Tuple[str, str]]:
    """Yield the id and the text of each chunk of a page."""
    contents = page.pool.contents
    yield "c-lines", chunks.of_json(page.pool.lines)
    yield "c-sizes", chunks.of_json([len(content) for content in contents])
    yield "c-trace", chunks.of_json(_trace(page))
    yield "c-contents", chunks.of_numbers(number for content in contents for number in content)
    for i, view in enumerate(page.views):
        values = _view(view)
        yield f"c-view-{i}", chunks.of_json(clean(values) if view.redacted else values)
        spans, edges = _numbered(view.links, view)
        yield f"c-spans-{i}", chunks.of_numbers(spans)
        yield f"c-edges-{i}", chunks.of_numbers(edges)


def _view(view: View) -> Dict[str, Any]:
    files = view.files.files
    parents = {v.key: v.parent for function in view.functions for v in function.versions}
    return {
        "files": [[f.name, f.kind, f.content, f.size, f.key, f.stage, f.base] for f in files],
        "users": _users(view),
        "functions": [_function(function, parents) for function in view.functions],
        "kernels": kernels_of(view),
        "graphs": pictures_of(view),
        "findings": view.findings,
        "bars": view.bars,
        "rest": rest_of(view),
    }


def _trace(page: Page) -> Dict[str, Any]:
    trace = trace_of((view.label, view.capture) for view in page.views)
    redacted = any(view.redacted for view in page.views)
    made: Dict[str, Any] = clean(trace) if redacted else trace
    return made


def _users(view: View) -> List[Any]:
    """Return what is known of the user's files; they are the first files of a view."""
    made: List[Any] = []
    for file, user in zip(view.files.files, view.users):
        assert file.kind == USER
        first = user.numbers[0] if user.numbers else 1
        whole = user.numbers == list(range(first, first + len(user.numbers)))
        numbers = None if whole else user.numbers
        made.append({"first": first, "numbers": numbers, "outcome": user.outcome})
    return made


def _function(function: Function, parents: Mapping[str, str]) -> Dict[str, Any]:
    keys = {version.key for version in function.versions}
    return {
        "name": function.name,
        "path": function.path,
        "line": function.line,
        "full": function.full,
        "guards": function.guards,
        "columns": function.columns,
        "depth": depth_of(parents, keys),
        "rows": [
            [
                readable(row.source),
                row.kind,
                row.where,
                row.cells,
                row.failed or None,
                row.differs or bool(row.failed),
                row.count,
                row.source,
            ]
            for row in function.rows
        ],
        "versions": [vars(version) for version in function.versions],
    }


def depth_of(parents: Mapping[str, str], keys: set[str]) -> int:
    """Return the number of breaks before a function, at most 20.

    Args:
        parents: the key of the frame that each compile's frame resumes; empty if there is none.
        keys: the compiles of the function.
    """
    depth, key = 0, next((key for key in sorted(keys) if parents.get(key)), "")
    while parents.get(key) and depth < 20:
        depth, key = depth + 1, parents[key]
    return depth


def _numbered(links: Links, view: View) -> Tuple[List[int], List[int]]:
    """Return the pieces by where they stand, and the edges by the numbers of pieces."""
    bases = [file.base for file in view.files.files]
    order = sorted(links.spans, key=lambda span: (bases[span[0]] + span[1], span[2]))
    number = {links.spans[span]: i for i, span in enumerate(order)}
    spans = [bases[file] + first for file, first, _ in order]
    spans += [bases[file] + last for file, _, last in order]
    edges = sorted((number[a], number[b], how) for (a, b), how in links.edges.items())
    flat = [edge[part] for part in range(3) for edge in edges]
    return spans, flat
