# SPDX-License-Identifier: Apache-2.0
"""Comments that link transformed code to the user's own lines.

Dynamo's line numbers are unreliable, but two kinds of names help.  ``__resume_at_102_2`` is a
function whose code jumps to where the original resumes, and ``__compiled_fn_0_1`` runs a graph
whose print names the lines that it computes.  If the function is unavailable, its name remains:
approximately byte 102 of the original code (torch counts some instructions of 3.14 differently).
"""

from __future__ import annotations

import ast
import contextlib
import dis
import linecache
import os
import re
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Iterable, Iterator, Mapping

from pellucid.dump.model.dynamo_names import GRAPH, RESUME, broken_function
from pellucid.dump.model.expressions import walk
from pellucid.dump.model.graph_text import FILE_COMMENT
from pellucid.dump.model.installed import is_installed
from pellucid.dump.model.names import is_resumed

_READ = re.compile(r"(?<!def )\b(__resume_at_\d+_\d+\b|\w+(?=\())")
_MARK = re.compile(r"record_pregraph_bytecode_(?:enter|exit)\Z")
_NODE = re.compile(rf"{FILE_COMMENT}(.+?):(\d+) in ")
_WORTH_A_LOOK = re.compile(r"__compiled_fn_|record_pregraph_bytecode_")
# A string with several lines.  Before 3.12, an f-string in single quotes is on one line; since
# then, its expressions may span lines and contain comments.
_MAY_SPAN_LINES = re.compile(r"\"\"\"|'''|\\\n")
_LONGEST = 60
_LINES_SHOWN = 3
_OF_TORCH = "PyTorch's own marks for its profiler"
_NOTHING = "a graph of nothing: what torch captured was used to decide, and to compute nothing"
_GIVES_NOTHING = re.compile(r"^        return \(\)$", re.MULTILINE)
_NOT_A_FILE = "<"


def annotate(
    source: str,
    original: CodeType,
    graphs: Iterable[str] = (),
    resumed: Mapping[str, CodeType] = MappingProxyType({}),
) -> str:
    """Add comments that link each graph call and each resume call to the user's lines.

    The lines of a graph, and PyTorch's own work, are noted above the statement; the line where a
    resume function resumes is noted after it.  ``graphs`` are the printed graphs of this compile,
    and ``resumed`` is the result of :func:`resumed_codes` for the source's code.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    lines = [_resumed(line, original, resumed) for line in source.split("\n")]
    above = {}
    graphs = list(graphs)
    computed = _lines_of_graphs(graphs, original.co_filename)
    for statement in _simple_statements(tree):
        last = getattr(statement, "end_lineno", None) or statement.lineno
        written = "\n".join(lines[statement.lineno - 1 : last])
        if not _WORTH_A_LOOK.search(written):
            continue
        nodes = walk(statement)
        names = {n.id for n in nodes if isinstance(n, ast.Name)}
        attributes = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
        if computed and any(map(GRAPH.match, names)):
            above[statement.lineno] = computed
        elif isinstance(statement, ast.Expr) and any(map(GRAPH.match, names)) and _empty(graphs):
            above[statement.lineno] = _NOTHING
        elif any(map(_MARK.match, attributes)):
            above[statement.lineno] = _OF_TORCH
    for number in sorted(above, reverse=True):
        line = lines[number - 1]
        indent = line[: len(line) - len(line.lstrip())]
        lines.insert(number - 1, f"{indent}# {above[number]}")
    text = "\n".join(lines)
    # A line may be inside a string, which would then contain the comment.
    inside = _MAY_SPAN_LINES.search(source)
    return text if inside is None or _means_the_same(text, source) else source


def _simple_statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield simple statements, including those inside compound statements."""
    pending: list[Any] = [tree]
    for node in pending:  # pending grows during the loop
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node
            continue
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, name, ())


def _means_the_same(text: str, source: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _resumed(line: str, original: CodeType, resumed: Mapping[str, CodeType]) -> str:
    lines = [line_of_resume(name, original, resumed) for name in _READ.findall(line)]
    places = [place(original.co_filename, number) for number in lines if number is not None]
    return f"{line}  # {' | '.join(places)}" if places else line


def resumed_codes(transformed: CodeType, scope: Mapping[str, Any]) -> dict[str, CodeType]:
    """Return the code of each resume function that a frame calls, by its name there.

    Args:
        transformed: the frame's code; old torch creates such a function inside it.
        scope: its globals, where torch stores all others.
    """
    found: dict[str, CodeType] = {}
    for name in filter(RESUME.match, transformed.co_names):
        function = scope.get(name)
        if type(function) is FunctionType:
            found[name] = _made_by(function) or function.__code__
    made = [const for const in transformed.co_consts if isinstance(const, CodeType)]
    for code in filter(lambda code: is_resumed(code.co_name), made):
        name = code.co_name
        if len({resumed_line(other) for other in made if other.co_name == name}) == 1:
            found[name] = code
    return found


def _made_by(function: FunctionType) -> CodeType | None:
    """Return the code in a torch function's closure that it creates a function from; else None."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty cell
            held = cell.cell_contents
            if type(held) is CodeType and is_resumed(held.co_name):
                return held
    return None


def line_of_resume(name: str, original: CodeType, resumed: Mapping[str, CodeType]) -> int | None:
    """Return the user line at which a resume function resumes; None if the name is not one."""
    if name in resumed:
        code = resumed[name]
        # The outline of another Python's code has no instructions, but the name has a line too.
        return resumed_line(code) or broken_function(code.co_name)[1]
    offset = RESUME.match(name)
    return line_at(original, int(offset[1])) if offset else None


def line_at(code: CodeType, offset: int) -> int | None:
    """Return the line of the instruction at a byte offset; None if there is none.

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


def resumed_line(code: CodeType) -> int | None:
    """Return the line at which a resume function resumes; None if unknown.

    Dynamo adds a prologue before the original's code, which restores the stack and jumps to the
    break. In 3.14 that is where a branch was not taken, which still has the line of the test.
    """
    target = None
    for instruction in dis.get_instructions(code):
        if target is None:
            if instruction.opname in ("JUMP_FORWARD", "JUMP_ABSOLUTE"):
                target = int(instruction.argval)
        elif instruction.offset >= target and instruction.opname != "NOT_TAKEN":
            return line_at(code, instruction.offset)
    return None if target is None else line_at(code, target)


def place(file: str, line: int) -> str:
    """Return a user line with its text.

    >>> place("/no/such/file.py", 7)
    'file.py:7'
    """
    return f"{os.path.basename(file)}:{line}  {_text_of(file, line)}".rstrip()


def _text_of(file: str, line: int) -> str:
    text = linecache.getline(file, line).strip()
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return "".join(c if c.isprintable() else " " for c in text)


def _rank(file: str, own: str) -> int:
    return 2 if is_installed(file) else int(file != own)


def _empty(graphs: Iterable[str]) -> bool:
    return any(map(_GIVES_NOTHING.search, graphs))


def _lines_of_graphs(graphs: Iterable[str], own: str) -> str:
    """Summarize the lines that the graphs compute: ``toy.py:5-6  x = a + 1; y = x * 2``.

    The lines of ``own``, the function's file, come first, then those of other user files, then
    those of installed ones.
    """
    files: dict[str, set[int]] = {}
    for text in graphs:
        for file, line in _NODE.findall(text):
            files.setdefault(file, set()).add(int(line))
    spans = []
    order = sorted(files, key=lambda file: (file.startswith(_NOT_A_FILE), _rank(file, own)))
    for file in order:
        found = files[file]
        lines = sorted(found)
        span = f"{os.path.basename(file)}:{lines[0]}"
        if len(lines) > 1:
            span += f"-{lines[-1]}"
        texts = [_text_of(file, line) for line in lines[:_LINES_SHOWN]]
        shown = "; ".join(filter(None, texts)) + ("; …" if len(lines) > _LINES_SHOWN else "")
        spans.append(f"{span}  {shown}".rstrip())
    return " | ".join(spans[:_LINES_SHOWN]) + (" | …" if len(spans) > _LINES_SHOWN else "")
