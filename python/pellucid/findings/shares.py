# SPDX-License-Identifier: Apache-2.0
"""How much of the program is compiled."""

from __future__ import annotations

import ast
from typing import Sequence

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import Frame, Graph, Place
from pellucid.torch.model.failures import is_own

from .source import Program, root_of


def share_of_lines(captures: Sequence[Capture]) -> tuple[int, int] | None:
    """Return how many lines of the functions that were compiled are in graphs, and of how many.

    A line counts on which a statement begins that computes something; None where the captures
    do not have the functions' text, or no line of their graphs.
    """
    in_graphs: set[tuple[str, int]] = set()
    lines: set[tuple[str, int]] = set()
    for capture in captures:
        program = Program(capture)
        placed = {
            (node.place.file, node.place.line)
            for graph in capture.of(Graph)
            if graph.stage == "captured"
            for node in capture.nodes(graph.file)
            if node.place is not None and is_own(node.place.file)
        }
        frames = [frame for frame in capture.of(Frame) if is_own(frame.place.file)]
        functions = {(f.place.file, root_of(capture, f), f.place.line) for f in frames}
        for file, name, line in functions:
            for node in program.functions(file):
                if node.name == name and node.lineno <= line <= (node.end_lineno or 0):
                    found = _lines(node)
                    lines |= {(file, number) for number in found}
        in_graphs |= {
            (file, first) for file, line in placed for first in (_start(program, file, line),)
        }
    counted = in_graphs & lines
    return (len(counted), len(lines)) if lines and counted else None


def _start(program: Program, file: str, line: int) -> int:
    statement = program.statement(Place(file, line))
    return statement.lineno if statement is not None else line


_NO_WORK = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Pass,
    ast.Global,
    ast.Nonlocal,
    ast.Break,
    ast.Continue,
    ast.Try,
    ast.Import,
    ast.ImportFrom,
)


def _lines(function: ast.AST) -> set[int]:
    """The lines of a function on which a statement begins that computes something."""
    found: set[int] = set()
    pending = list(getattr(function, "body", []))
    while pending:
        node = pending.pop()
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        trivial = isinstance(node, ast.Return) and isinstance(
            node.value, (ast.Name, ast.Constant, type(None))
        )
        handler = isinstance(node, ast.ExceptHandler)
        if not isinstance(node, _NO_WORK) and not handler and not docstring and not trivial:
            found.add(node.lineno)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody", "handlers"):
                pending += getattr(node, field, [])
    return {number for number in found if number}
