"""Comments that tie transformed code to the user's own lines.

Dynamo's line numbers say little, but two kinds of names say more: ``__resume_at_102_2`` goes on at
byte 102 of the original code, and ``__compiled_fn_0_1`` runs a graph whose print names the lines
that it computes.
"""

from __future__ import annotations

import ast
import dis
import linecache
import os
import re
from types import CodeType
from typing import Iterable

_RESUME = re.compile(r"\b__resume_at_(\d+)_\d+\b")
_GRAPH = re.compile(r"\b(__compiled_fn_\w+)\b")
_NODE = re.compile(r"# File: (.+?):(\d+) in ")
_LONGEST = 60


def annotate(source: str, original: CodeType, graphs: Iterable[str] = ()) -> str:
    """Add the user's line to each line of ``source`` that resumes or that calls a graph.

    ``graphs`` are the printed graphs of this compile.
    """
    computed = _lines_of_graphs(graphs)
    text = "\n".join(_annotated(line, original, computed) for line in source.split("\n"))
    # A line may lie inside a string; then the comment would become part of it.
    across = any(mark in source for mark in ('"""', "'''", "\\\n"))
    return source if across and not _means_the_same(text, source) else text


def _means_the_same(text: str, source: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _annotated(line: str, original: CodeType, computed: str) -> str:
    lines = [line_at(original, int(offset)) for offset in _RESUME.findall(line)]
    places = [place(original.co_filename, number) for number in lines if number is not None]
    if places:
        return f"{line}  # {' | '.join(places)}"
    return f"{line}  # {computed}" if computed and _GRAPH.search(line) else line


def line_at(code: CodeType, offset: int) -> int | None:
    """The line of the instruction at a byte offset; None when there is none.

    >>> code = compile("a = 1\\nb = 2\\n", "f.py", "exec")
    >>> last = max(start for start, line in dis.findlinestarts(code) if line == 2)
    >>> line_at(code, last)
    2
    """
    found = None
    for start, line in dis.findlinestarts(code):
        if start > offset:
            break
        found = line
    return found


def place(file: str, line: int) -> str:
    """A line of the user's, with its text.

    >>> place("/no/such/file.py", 7)
    'file.py:7'
    """
    text = linecache.getline(file, line).strip()
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    text = "".join(c if c.isprintable() else " " for c in text)
    return f"{os.path.basename(file)}:{line}" + (f"  {text}" if text else "")


def _lines_of_graphs(graphs: Iterable[str]) -> str:
    """Say in short which lines the graphs compute: ``toy.py:5-6, layers.py:20``."""
    files: dict[str, list[int]] = {}
    for text in graphs:
        for file, line in _NODE.findall(text):
            files.setdefault(os.path.basename(file), []).append(int(line))
    spans = []
    for file, lines in files.items():
        low, high = min(lines), max(lines)
        spans.append(f"{file}:{low}" + (f"-{high}" if high > low else ""))
    return ", ".join(spans[:3]) + (", …" if len(spans) > 3 else "")
