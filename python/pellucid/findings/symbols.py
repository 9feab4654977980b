# SPDX-License-Identifier: Apache-2.0
"""Tests of unbacked symbols in Python syntax, and the lines that created the symbols."""

from __future__ import annotations

import ast
import re
from typing import Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import CompileKey, Unbacked

from .source import Program
from .words import short

_SYMBOL = re.compile(r"\b(?:z?u[if]?|zf)\d+\b")
_COMPARED = {"Eq": "==", "Ne": "!=", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">="}
_COMPUTED = {"Mod": "%", "PythonMod": "%", "FloorDiv": "//", "IntTrueDiv": "/"}


def as_python(test: str) -> str:
    """Return a test of symbols with operators in place of SymPy's functions.

    >>> as_python("Eq(Mod(u1, 2), 0)"), as_python("u0 < 2"), as_python("Eq(u0")
    ('u1 % 2 == 0', 'u0 < 2', 'Eq(u0')
    """
    try:
        tree = ast.parse(test.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return test
    return ast.unparse(_Written().visit(tree)) if hasattr(ast, "unparse") else test


class _Written(ast.NodeTransformer):
    """Replace function names with the operators they represent."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        word = _COMPARED.get(name) or _COMPUTED.get(name)
        if word is None or len(node.args) != 2:
            return node
        made = ast.parse(f"a {word} b", mode="eval").body
        if isinstance(made, ast.Compare):
            made.left, made.comparators = node.args[0], [node.args[1]]
        elif isinstance(made, ast.BinOp):
            made.left, made.right = node.args
        return made


def origins(capture: Capture, program: Program, key: CompileKey, test: str) -> str:
    """Return the lines that created the symbols of a test, in words; empty if unknown."""
    found: list[str] = []
    for symbol in dict.fromkeys(_SYMBOL.findall(test)):
        event = _made(capture.of(Unbacked, key), symbol)
        place = None if event is None else program.own(event.frames, event.place)
        if place is not None:
            code = program.code(place)
            found.append(f"`{symbol}` comes from {short(place)}" + (f" (`{code}`)" if code else ""))
    return ", ".join(found)


def _made(events: Sequence[Unbacked], symbol: str) -> Unbacked | None:
    # A restarted attempt creates the same symbols again: use the last.
    return next((event for event in reversed(events) if event.symbol == symbol), None)
