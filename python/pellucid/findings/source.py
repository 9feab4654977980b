# SPDX-License-Identifier: Apache-2.0
"""The user's source text, as far as a capture has it: lines, syntax trees, and diffs."""

from __future__ import annotations

import ast
import bisect
import difflib
import functools
import os
import re
import sys
from typing import Any, Callable, Generic, Iterable, Sequence, TypeVar

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.dynamo_names import broken_function
from pellucid.dump.model.events import Artifact, Frame, Link, Log, Place, Source
from pellucid.dump.model.expressions import walk
from pellucid.dump.model.failures import is_own

_RECORD = "session.json"
_IN_COMMENT = re.compile(r"# +\S*?:(\d+)\b")


K = TypeVar("K")
V = TypeVar("V")
N = TypeVar("N", bound=ast.stmt)


def _kept(method: Callable[[Any, K], V]) -> Callable[[Any, K], V]:
    """Cache a method's results on its program."""
    name = method.__name__

    @functools.wraps(method)
    def call(self: Program, key: K) -> V:
        if (name, key) not in self.memory:
            self.memory[name, key] = method(self, key)
        found: V = self.memory[name, key]
        return found

    return call


class Program:
    """The captured program, as text."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self.memory = capture.memory
        self._frames = {frame.file: frame for frame in capture.of(Frame)}
        self._is_of_file = bool(capture.of(Log) or capture.of(Artifact))
        self._sources: dict[str, list[Source]] = {}
        for source in capture.of(Source):
            self._sources.setdefault(source.file, []).append(source)

    def compiles(self, folder: str, function: str) -> bool:
        """Return true if torch compiled a function of that name from a file in that folder."""
        frames = self._frames.values()
        places = [f.place for f in frames if f.place.function == function]
        return any(folder in place.file.replace("\\", "/") for place in places)

    @_kept
    def lines(self, file: str) -> tuple[str, ...]:
        """Return the lines of one of the program's files; none if unknown."""
        parts = self._sources.get(file)
        if parts is not None:
            found: list[str] = []
            for part in sorted(parts, key=lambda part: part.first):
                found += [""] * (part.first - 1 - len(found))
                found[part.first - 1 :] = part.text.split("\n")
            return tuple(found)
        if self._is_of_file:
            return ()  # the author of a log or artifact named the file: do not read it
        # The dump lacks the program's text: read the file, unless it changed after the capture.
        try:
            made = os.stat(str(self._capture.directory / _RECORD)).st_mtime
        except OSError:
            made = None
        try:
            if made is not None and os.stat(file).st_mtime > made:
                return ()
            with open(file, encoding="utf-8", errors="replace") as stream:
                return tuple(stream.read().split("\n"))
        except (OSError, ValueError):
            return ()

    def code(self, place: Place | None) -> str:
        """Return the text of a line without its indentation; empty if unknown."""
        if place is None:
            return ""
        lines = self.lines(place.file)
        return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""

    @_kept
    def tree(self, file: str) -> ast.Module | None:
        """Return the syntax tree of a file; None if this Python cannot parse it."""
        if self._is_of_file and any(not part.sha256 for part in self._sources.get(file, ())):
            return None  # single lines quoted in a log, not the whole file
        try:
            return ast.parse("\n".join(self.lines(file)) + "\n") if self.lines(file) else None
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def own(self, frames: Sequence[Place], otherwise: Place | None = None) -> Place | None:
        """Return the innermost place in user code, mapped back through files of the dump."""
        for frame in reversed(frames):
            found = self.through(frame)
            if found is not None and is_own(found.file):
                return found
        if otherwise is not None:
            found = self.through(otherwise)
            return found if found is not None else otherwise
        return None

    def through(self, place: Place) -> Place | None:
        """Return the user's place for a place in a transformed file; None if there is none."""
        frame = self._frames.get(os.path.basename(place.file))
        if frame is None:
            return place
        function = broken_function(frame.place.function)[0]
        links = [link for link in frame.links if link.kind == "user"]
        if links:
            above = [link for link in links if link.line <= place.line]
            # Lines above the first link belong to its statement.
            nearest = max(above, key=_line) if above else min(links, key=_line)
            file, _, line = nearest.target.rpartition(":")
            return Place(file, int(line), function) if line.isdigit() else None
        text = self._capture.text(frame.file).split("\n")
        near = text[max(place.line - 6, 0) : place.line]
        # A call whose result is passed to the resume function comes before the comment with its
        # line.
        for line in (*reversed(near), *text[place.line : place.line + 3]):
            found = _IN_COMMENT.search(line)
            if found is not None:
                return Place(frame.place.file, int(found[1]), function)
        return None

    def statement(self, place: Place) -> ast.stmt | None:
        """Return the innermost statement at a line."""
        return self._statements_by_line(place.file).at(place.line)

    def function(self, place: Place) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the innermost function at a line."""
        return self._functions_by_line(place.file).at(place.line)

    @_kept
    def _statements_by_line(self, file: str) -> _Innermost[ast.stmt]:
        return _Innermost(node for node in self._nodes(file) if isinstance(node, ast.stmt))

    @_kept
    def _functions_by_line(self, file: str) -> _Innermost[ast.FunctionDef | ast.AsyncFunctionDef]:
        return _Innermost(self.functions(file))

    def start(self, place: Place) -> Place:
        """Return the line of the ``def`` for the line of a function's first decorator."""
        if not self.code(place).startswith("@"):
            return place
        line = self._starts(place.file).get(place.line)
        return place if line is None else Place(place.file, line, place.function)

    @_kept
    def _starts(self, file: str) -> dict[int, int]:
        return {_first(node): node.lineno for node in self.functions(file)}

    @_kept
    def functions(self, file: str) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
        """Return the functions of a file."""
        found = (ast.FunctionDef, ast.AsyncFunctionDef)
        return tuple(node for node in self._nodes(file) if isinstance(node, found))

    def block(self, file: str, statement: ast.stmt) -> list[ast.stmt]:
        """Return the block of statements that a statement of a file is in."""
        return self._blocks(file)[id(statement)]

    @_kept
    def _blocks(self, file: str) -> dict[int, list[ast.stmt]]:
        found: dict[int, list[ast.stmt]] = {}
        for node in self._nodes(file):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list):  # a lambda's body is not
                    found.update((id(statement), block) for statement in block)
        return found

    @_kept
    def _nodes(self, file: str) -> list[ast.AST]:
        tree = self.tree(file)
        return [] if tree is None else walk(tree)

    def text_of(self, file: str, node: ast.AST) -> str:
        """Return the source text of an expression."""
        return ast.get_source_segment("\n".join(self.lines(file)) + "\n", node) or ""

    def diff(self, file: str, first: int, last: int, new: Sequence[str]) -> str:
        """Return the diff that replaces some lines by ``new``."""
        lines = self.lines(file)
        if not lines or not 0 < first <= last + 1 <= len(lines) + 1:
            return ""
        old, changed = [*lines[first - 1 : last]], [*new]
        while old and changed and old[0] == changed[0]:
            del old[0], changed[0]
            first += 1
        while old and changed and old[-1] == changed[-1]:
            del old[-1], changed[-1]
            last -= 1
        if not old and not changed:
            return ""
        # Comparing whole files would take too long in a long one, and align equal lines elsewhere.
        before, after = lines[max(first - 2, 0) : first - 1], lines[last : last + 1]
        inner = [*difflib.unified_diff(old, changed, lineterm="", n=len(old))][3:]
        start, context = first - 1 - len(before), len(before) + len(after)
        ranges = f"-{_range(start, len(old) + context)} +{_range(start, len(changed) + context)}"
        name = os.path.basename(file)
        found = [f"--- {name}", f"+++ {name}", f"@@ {ranges} @@", *(f" {line}" for line in before)]
        return "\n".join([*found, *inner, *(f" {line}" for line in after)])

    def setting(self, file: str, line: str) -> str:
        """Return the diff that adds a line after the imports of a file."""
        tree = self.tree(file)
        if tree is None:
            return ""
        imports = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        names = {a.asname or a.name for n in imports if isinstance(n, ast.Import) for a in n.names}
        if "torch" not in names:
            return ""
        last = imports[-1].end_lineno or imports[-1].lineno
        return self.diff(file, last + 1, last, ["", line])


def _range(start: int, count: int) -> str:
    """Return lines from an index on, as the head of a hunk has them."""
    return f"{start + 1}" if count == 1 else f"{start + bool(count)},{count}"


def _line(link: Link) -> int:
    return link.line


class _Innermost(Generic[N]):
    """A lookup of the innermost statement by line."""

    def __init__(self, nodes: Iterable[N]) -> None:
        self._lines: list[int] = []
        """The lines where the innermost statement changes, ascending."""
        self._nodes: list[N | None] = []
        """The innermost statement from that line on."""
        open_nodes: list[N] = []
        # Outer nodes first: among nodes that begin on one line, ast.walk() yields them first.
        for node in sorted(nodes, key=_first):
            self._close(open_nodes, _first(node))
            open_nodes.append(node)
            self._change(_first(node), node)
        self._close(open_nodes, sys.maxsize)

    def _close(self, open_nodes: list[N], line: int) -> None:
        """Close the nodes that end before a line."""
        while open_nodes and _last(open_nodes[-1]) < line:
            ended = _last(open_nodes.pop())
            while open_nodes and _last(open_nodes[-1]) <= ended:
                open_nodes.pop()
            self._change(ended + 1, open_nodes[-1] if open_nodes else None)

    def _change(self, line: int, node: N | None) -> None:
        self._lines.append(line)
        self._nodes.append(node)

    def at(self, line: int) -> N | None:
        """Return the innermost node at a line; None if there is none."""
        number = bisect.bisect_right(self._lines, line) - 1
        return self._nodes[number] if number >= 0 else None


def _last(node: ast.stmt) -> int:
    return node.end_lineno or 0


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([int(node.lineno), *(int(d.lineno) for d in decorators)])


def root_of(frame: Frame) -> str:
    """Return the name of a frame's function; for a resume function, that of the original."""
    return broken_function(frame.place.function)[0]
