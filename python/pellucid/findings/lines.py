# SPDX-License-Identifier: Apache-2.0
"""The user's files, the outcome of each line, and the number of compiled lines.

A line is compiled if it, or anything it calls, is in a graph.  It is left out if Python runs it: it
breaks a graph, or its function runs uncompiled.  Lines that leave nothing to run (reading a size, a
branch not taken) are neither.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple

from pellucid.dump.model.breaks import break_of
from pellucid.dump.model.capture import Capture, first_graphs
from pellucid.dump.model.events import (
    Break,
    Frame,
    Graph,
    Log,
    Place,
    Skipped,
    Source,
    Started,
)
from pellucid.dump.model.expressions import walk
from pellucid.dump.model.failures import is_own
from pellucid.dump.model.graph_text import FILE_COMMENT, nodes_of_text
from pellucid.dump.model.names import is_resumed

from .source import Program

GRAPH, PYTHON, TRACED, BREAK, EAGER, NONE = "g", "p", "t", "b", "x", " "
"""In a graph; Python between graphs; nothing left to run; a break; uncompiled; not reached."""

_CODE_OF_NODE = re.compile(rf"{FILE_COMMENT}(.+):(\d+) in [^,]+, code: (.*)$", re.MULTILINE)
_ORIGINAL = re.compile(
    r"^# (/.+|[^#\n]+\.py):(\d+)\n(def __original_(\w+)\(.*\n(?:[ \t].*\n|\n)*)", re.M
)


@dataclass
class UserFile:
    """One of the user's files: the lines that the capture knows, and their outcomes."""

    path: str
    numbers: List[int]
    """The number of each line; they are consecutive if the whole file is known."""
    lines: List[str]
    outcome: str = ""
    """One letter per line: GRAPH, PYTHON, TRACED, BREAK, EAGER or NONE."""
    index: Dict[int, int] = field(default_factory=dict)
    compiled: frozenset[int] = frozenset()
    """The compiled lines, each the first of its statement."""
    left_out: frozenset[int] = frozenset()


def user_files(capture: Capture) -> List[UserFile]:
    """Return the user's files with the outcome of each line, in the order torch saw them."""
    files = {file.path: file for file in _files(capture)}
    reached = _Reached(capture)
    for file in files.values():
        reached.tell(file)
    order = {path: i for i, path in enumerate(dict.fromkeys(_paths(capture)))}
    return sorted(files.values(), key=lambda file: (order.get(file.path, len(order)), file.path))


def compiled_lines(captures: Sequence[Capture]) -> Tuple[int, int]:
    """Return the number of compiled lines of the program, and the number with those left out."""
    compiled: set[Tuple[str, int]] = set()
    left_out: set[Tuple[str, int]] = set()
    for capture in captures:
        reached = _Reached(capture)
        own = {path for path in reached.files if is_own(path)}
        for file in _files(capture, own) if own else ():
            reached.tell(file)
            compiled |= {(file.path, line) for line in file.compiled}
            left_out |= {(file.path, line) for line in file.left_out}
    return len(compiled), len(compiled | left_out)


def _paths(capture: Capture) -> Iterator[str]:
    for event in capture.events:
        if isinstance(event, (Frame, Skipped)) and event.place is not None:
            yield event.place.file


def _files(capture: Capture, wanted: Set[str] | None = None) -> Iterator[UserFile]:
    """Yield the files that a capture knows, or those among them that are wanted."""
    known: Dict[str, Dict[int, str]] = {}
    for event in capture.of(Source):
        lines = event.text.split("\n")
        if not lines[-1]:
            lines.pop()
        # A log shows single lines of a file; the lines between them are unknown.
        is_whole = bool(event.sha256) or not capture.of(Log)
        shown = {n: x for n, x in enumerate(lines, event.first) if x or is_whole}
        known.setdefault(event.file, {}).update(shown)
    if wanted is None or not wanted <= known.keys():
        known = {**_partial(capture), **known}
    for path, lines_of in known.items():
        if lines_of and (wanted is None or path in wanted):
            numbers = sorted(lines_of)
            index = {number: i for i, number in enumerate(numbers)}
            yield UserFile(path, numbers, [lines_of[number] for number in numbers], index=index)


def _partial(capture: Capture) -> Dict[str, Dict[int, str]]:
    """Collect the lines quoted in the dumped files, for captures that contain no sources."""
    found: Dict[str, Dict[int, str]] = {}
    for graph in capture.of(Graph):
        for path, line, code in _CODE_OF_NODE.findall(capture.text(graph.file)):
            found.setdefault(path, {})[int(line)] = code
    for name in capture.files:
        if name.startswith("full_code_for_"):
            for path, line, body, function in _ORIGINAL.findall(capture.text(name)):
                block = body.rstrip("\n").replace(f"def __original_{function}(", f"def {function}(")
                _place_block(found.setdefault(path, {}), int(line), block.split("\n"))
    return found


_MOST_DECORATORS = 8


def _place_block(known: Dict[int, str], line: int, block: List[str]) -> None:
    """Add the lines of a function; its first line may be that of a decorator that is not shown."""
    fitting = [
        sum(known.get(line + shift + i, "").strip() == text.strip() for i, text in enumerate(block))
        for shift in range(_MOST_DECORATORS)
    ]
    shift = fitting.index(max(fitting))
    for i, text in enumerate(block):
        known[line + shift + i] = text


class _Reached:
    """The lines that each kind of event reached."""

    def __init__(self, capture: Capture) -> None:
        self.graph: Dict[str, set[int]] = {}
        self.calls: Dict[str, set[int]] = {}
        self.python: Dict[str, set[int]] = {}
        self.breaks: Dict[str, set[int]] = {}
        self.frames: Dict[str, set[int]] = {}
        self.eager: Dict[str, set[int]] = {}
        for graph in first_graphs(capture.of(Graph)):
            for node in nodes_of(capture, graph.file):
                self._add(self.graph, node.place)
            for call in graph.calls:
                self._add(self.calls, call)
        program = Program(capture)
        with_graph = {graph.key for graph in capture.of(Graph)}
        for start in capture.of(Started):
            for call, called in zip(start.stack, start.stack[1:]):
                # The line of the break calls the resume function.
                if start.key in with_graph and not is_resumed(called.function):
                    self._add(self.calls, program.through(call))
        for frame in capture.of(Frame):
            self._add(self.frames, frame.place)
            for link in getattr(frame, "links", ()):
                if link.kind == "user":
                    path, _, line = link.target.rpartition(":")
                    if line.isdigit():
                        self.python.setdefault(path, set()).add(int(line))
        for skipped in capture.of(Skipped):
            self._add(self.eager, skipped.place)
        for event in capture.of(Break):
            self._add(self.breaks, break_place(event))

    @property
    def files(self) -> set[str]:
        """Return the files of all these lines."""
        kinds = (self.graph, self.calls, self.python, self.breaks, self.frames, self.eager)
        return {path for kind in kinds for path in kind}

    @staticmethod
    def _add(to: Dict[str, set[int]], place: Place | None) -> None:
        if place is not None:
            to.setdefault(place.file, set()).add(place.line)

    def tell(self, file: UserFile) -> None:
        """Set the outcome of each line of a file."""
        path = file.path
        statements, functions, lambdas = _shape(file)
        graph = {
            first for line in self.graph.get(path, ()) for first in [statements.get(line, line)]
        }
        letters = [NONE] * len(file.numbers)
        starts = set(statements.values())
        places = [*graph, *self.frames.get(path, ())]
        innermost, with_lambdas = _by_line(functions), _by_line([*functions, *lambdas])
        traced = {with_lambdas.get(line) for line in places} - {None}
        skipped = sorted(self.eager.get(path, ()))
        eager = {
            function
            for function in functions
            if bisect_left(skipped, function[2]) < bisect_right(skipped, function[0])
        }
        calls = {statements.get(line, line) for line in self.calls.get(path, ())}
        entered = traced | eager
        graph |= {line for line in calls if innermost.get(line) in entered}
        for i, number in enumerate(file.numbers):
            first = statements.get(number)
            if first is None:
                letters[i] = GRAPH if number in self.graph.get(path, ()) else NONE
            elif first in graph:
                letters[i] = GRAPH
            elif first in starts:
                inner = innermost.get(first)
                if inner in traced:
                    between = first in self.python.get(path, ()) or number in self.python.get(
                        path, ()
                    )
                    letters[i] = PYTHON if between else TRACED
                elif inner in eager:
                    letters[i] = EAGER
        for line in self.breaks.get(path, ()):
            if line in file.index:
                letters[file.index[line]] = BREAK
        file.outcome = "".join(letters)
        of_letter: Dict[str, set[int]] = {}
        for number, letter in zip(file.numbers, letters):
            of_letter.setdefault(letter, set()).add(statements.get(number, number))
        broken = {statements.get(line, line) for line in self.breaks.get(path, ())}
        run = of_letter.get(PYTHON, set()) | of_letter.get(EAGER, set()) | broken
        file.compiled = frozenset(of_letter.get(GRAPH, set()) | (graph & run))
        file.left_out = frozenset(run - file.compiled)


Spans = List[Tuple[int, int, int]]


def _shape(file: UserFile) -> Tuple[Dict[int, int], Spans, Spans]:
    """Return the first line of each line's statement, and the functions and lambdas of a file.

    A function is the first and last line of its body and the line of its first decorator.
    """
    offset = file.numbers[0] - 1 if file.numbers else 0
    whole = file.numbers == list(range(offset + 1, offset + 1 + len(file.numbers)))
    tree: ast.AST | None = None
    if whole:
        try:
            tree = ast.parse("\n".join(file.lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
    if tree is None:
        shown = {n: n for n, text in zip(file.numbers, file.lines) if _is_code(text)}
        return shown, _blocks(file), []
    statements: Dict[int, int] = {}
    functions: Spans = []
    lambdas: Spans = []
    for node in walk(tree):
        if isinstance(node, ast.Lambda):
            first = node.body.lineno + offset
            lambdas.append((first, _end(node) + offset, first))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            functions.append((_first(node) + offset, _end(node) + offset, start + offset))
        if isinstance(node, ast.stmt) and not _is_definition(node):
            last = _end(node)
            inner: List[Any] = getattr(node, "body", [])
            if inner:
                last = max(node.lineno, inner[0].lineno - 1)
            for line in range(node.lineno, last + 1):
                if _is_code(file.lines[line - 1]):
                    statements[line + offset] = node.lineno + offset
    return statements, sorted(functions), lambdas


def _by_line(functions: Spans) -> Dict[int, Tuple[int, int, int]]:
    """Return the innermost function of each line: the last that begins, or the first of these."""
    found: Dict[int, Tuple[int, int, int]] = {}
    for function in sorted(functions, key=itemgetter(2), reverse=True):
        for line in range(function[2], function[1] + 1):
            found.setdefault(line, function)
    return found


def _blocks(file: UserFile) -> Spans:
    found: Spans = []
    start = last = 0
    for number, text in zip(file.numbers, file.lines):
        if start and (number != last + 1 or text.lstrip().startswith("def ")):
            found.append((start + 1, last, start))
            start = 0
        if text.lstrip().startswith("def "):
            start = number
        last = number
    if start:
        found.append((start + 1, last, start))
    return found


def _is_code(text: str) -> bool:
    stripped = text.strip()
    return bool(stripped) and not stripped.startswith(("#", "def ", "class ", "@"))


def _is_definition(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))
    return is_text or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _first(node: Any) -> int:
    return int(node.body[0].lineno)


def _end(node: Any) -> int:
    return int(getattr(node, "end_lineno", None) or node.lineno)


def break_place(event: Break) -> Place | None:
    """Return the user's line of a break."""
    return event.place or break_of(event.key, event.text).place


def nodes_of(capture: Capture, file: str) -> Tuple[Any, ...]:
    """Return the nodes of a graph from the capture, or else parsed from the file's text."""
    return capture.nodes(file) or nodes_of_text(capture.text(file))
