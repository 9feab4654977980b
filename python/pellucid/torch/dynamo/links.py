# SPDX-License-Identifier: Apache-2.0
"""Links from the lines of a transformed file to graphs, resume functions and user lines."""

from __future__ import annotations

import ast
import functools
from types import CodeType, MappingProxyType
from typing import Iterable, Iterator, Mapping

from pellucid.dump.model.dynamo_names import GRAPH
from pellucid.dump.model.events import Link
from pellucid.dump.model.expressions import walk

from .user_lines import line_of_resume


def links_of(
    text: str,
    original: CodeType,
    graphs: Mapping[str, str],
    broken: Iterable[int] = (),
    lines: Iterable[tuple[int, int]] = (),
    resumed: Mapping[str, CodeType] = MappingProxyType({}),
) -> tuple[Link, ...]:
    """Return the links of a transformed file, in the order of its lines.

    Args:
        text: the file.
        original: the user's code.
        graphs: the file of each graph, by its name in the text.
        broken: the user's lines at which the graph breaks.
        lines: pairs of a line of the file and a user line, from the bytecode.
        resumed: the code of each resume function, by its name in the text.

    Code that Dynamo generates itself has whatever line came last; only code that it copies, the
    statement at the break, has the right line.  So other lines get no link.
    """
    names = _names_read(text)
    if names is None:
        return ()
    found = set(_links(names, original, graphs, resumed))
    where = set(broken)
    for line, user_line in lines:
        if user_line in where:
            found.add(Link(line, "user", f"{original.co_filename}:{user_line}"))
    return tuple(sorted(found, key=lambda link: (link.line, link.kind, link.target)))


def _links(
    names: Iterable[tuple[str, int]],
    original: CodeType,
    graphs: Mapping[str, str],
    resumed: Mapping[str, CodeType],
) -> Iterator[Link]:
    for name, line in names:
        if GRAPH.match(name):
            if name in graphs:
                yield Link(line, "graph", graphs[name])
            continue
        user_line = line_of_resume(name, original, resumed)
        if user_line is not None:
            yield Link(line, "resume", f"{original.co_filename}:{user_line}")


def resume_calls(text: str, resumed: Mapping[str, CodeType]) -> dict[int, CodeType]:
    """Return the code of each resume function, by the line of a file that names it."""
    return {line: resumed[name] for name, line in _names_read(text) or () if name in resumed}


@functools.lru_cache(maxsize=1)  # for the links of a file, and then for its resume calls
def _names_read(text: str) -> tuple[tuple[str, int], ...] | None:
    """Return each name that a file reads, with its line; None if it is not valid Python.

    A function may be passed on to be called, so names that are only read count as well.
    """
    try:
        nodes = walk(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = (node for node in nodes if isinstance(node, ast.Name))
    return tuple((node.id, node.lineno) for node in names if isinstance(node.ctx, ast.Load))


def lines_behind_comments(source: str, commented: str) -> dict[int, int]:
    """Return the new line number of each line of a source after comment lines were inserted.

    >>> lines_behind_comments("a\\nb", "# one\\na  # two\\n# three\\nb")
    {1: 2, 2: 4}
    """
    after = commented.split("\n")
    found, at = {}, 0
    for number, line in enumerate(source.split("\n"), start=1):
        while at < len(after) and not after[at].startswith(line):
            at += 1
        at += 1
        found[number] = at
    return found
