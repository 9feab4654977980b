"""What the lines of a transformed file stand for: graphs, what goes on, lines of the user's."""

from __future__ import annotations

import ast
import re
from types import CodeType
from typing import Any, Iterable, Iterator, Mapping

from ..model.events import Link
from .user_lines import line_at

_GRAPH = re.compile(r"__compiled_fn_\w+\Z")
_RESUME = re.compile(r"__resume_at_(\d+)_\d+\Z")


def links_of(
    text: str,
    original: CodeType,
    graphs: Mapping[str, str],
    broken: Iterable[int] = (),
    lines: Iterable[tuple[int, int]] = (),
) -> tuple[Link, ...]:
    """Return what the lines of a transformed file stand for, in their order.

    Args:
        text: the file.
        original: the user's code.
        graphs: the file of each graph, by the name that the text calls it by.
        broken: the user's lines at which the graph breaks.
        lines: pairs of a line of the file and one of the user's, as the bytecode has them.

    What Dynamo writes itself has the line that happened to be the last; only what it copies, the
    statement at which it broke off, has its own.  So other lines are not told.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = set(_calls(tree, original, graphs))
    where = set(broken)
    for line, user_line in lines:
        if user_line in where:
            found.add(Link(line, "user", f"{original.co_filename}:{user_line}"))
    return tuple(sorted(found, key=lambda link: (link.line, link.kind, link.target)))


def _calls(tree: ast.AST, original: CodeType, graphs: Mapping[str, str]) -> Iterator[Link]:
    pending: list[Any] = [tree]
    for node in pending:  # grows as it goes
        pending.extend(ast.iter_child_nodes(node))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        name = node.func.id
        resumed = _RESUME.match(name)
        if resumed:
            line = line_at(original, int(resumed[1]))
            if line is not None:
                yield Link(node.lineno, "resume", f"{original.co_filename}:{line}")
        elif _GRAPH.match(name) and name in graphs:
            yield Link(node.lineno, "graph", graphs[name])


def lines_behind_comments(source: str, commented: str) -> dict[int, int]:
    """Return where each line of a source stands once lines of comments are put between them.

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
