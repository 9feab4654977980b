# SPDX-License-Identifier: Apache-2.0
"""The user's files as they were when they were compiled."""

from __future__ import annotations

import ast
import hashlib
import linecache
import os
import re
from pathlib import Path
from typing import Callable, Iterator, Mapping

from pellucid.dump.model.events import Break, Frame, Place, Skipped, Source, Started
from pellucid.dump.store.session import Session

Keep = Callable[[Session, str], None]
WHOLE = 200_000
"""Files up to this many bytes are stored whole; of larger ones, only the compiled functions."""
_LINE = re.compile(r'(?:File "([^"]+)", line (\d+)|in user code at ([^\n]+?):(\d+))')


_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "")
_OF_LIBRARIES = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
_STANDARD = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")


def ours(file: str) -> bool:
    """Return true if a file belongs to this package."""
    return file.startswith(_PACKAGE)


def is_users(file: str) -> bool:
    """Return true if a file is user code, not an installed library."""
    return not (
        file.startswith(("<frozen ", _STANDARD)) or ours(file) or _OF_LIBRARIES.search(file)
    )


def keep_file(session: Session, file: str) -> None:
    """Store the current content of a file, unless it is stored already."""
    if file not in session.sources:
        session.sources[file] = _content(file)


def add_sources(session: Session, own: str, keep: Keep | None = None) -> None:
    """Record the user's files in which something was compiled.

    Args:
        session: the session, whose events and nodes name the files.
        own: torch's own folder; of its files, only functions are recorded.
        keep: stores a file that is not stored yet; by default :func:`keep_file`.
    """
    keep = keep or keep_file
    # Some of the calls that led to a frame are in dumped files.
    told = {source.file for source in session.of(Source)} | set(session.files())
    for file, lines in sorted(_lines(session).items()):
        if file in told or ours(file):
            continue
        is_own = file.startswith(own)
        if is_own and not any(frame.place.file == file for frame in session.of(Frame)):
            continue
        keep(session, file)
        data = session.sources[file]
        if not data:
            continue
        digest = hashlib.sha256(data).hexdigest()
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        if len(data) <= WHOLE and not is_own:
            session.record(Source(file, text, digest))
            continue
        for first, part in _functions(text, lines):
            session.record(Source(file, part, digest, first))


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError):
        # A notebook cell has no file.
        return "".join(linecache.getlines(file)).encode("utf-8", "surrogatepass")


def _lines(session: Session) -> Mapping[str, set[int]]:
    """Return the lines of each file that events or nodes name."""
    found: dict[str, set[int]] = {}
    for place in _places(session):
        found.setdefault(place.file, set()).add(place.line)
    return {file: lines for file, lines in found.items() if file and file != "?"}


def _places(session: Session) -> Iterator[Place]:
    for frame in session.of(Frame):
        yield frame.place
    for started in session.of(Started):
        yield from started.stack[:-1]
    found = [event.place for event in session.of(Started)]
    found += [event.place for event in session.of(Skipped)]
    yield from (place for place in found if place is not None)
    for stop in session.of(Break):
        for file, line, other, its in _LINE.findall(stop.explanation):
            if other or is_users(file):
                yield Place(file or other, int(line or its))
    for nodes in session.nodes.values():
        for node in nodes:
            if node.place is not None:
                yield node.place


def _functions(text: str, lines: set[int]) -> list[tuple[int, str]]:
    """Return the outermost functions that contain one of the lines, each with its first line.

    >>> _functions("a = 1\\ndef f():\\n    return 2\\n\\nb = 3\\n", {3, 5})
    [(2, 'def f():\\n    return 2\\n')]
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    whole = text.split("\n")
    found = []
    pending: list[ast.AST] = [tree]
    for node in pending:  # pending grows during the loop
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            last = getattr(node, "end_lineno", None) or node.lineno
            if any(first <= line <= last for line in lines):
                found.append((first, "\n".join(whole[first - 1 : last]) + "\n"))
        else:
            pending.extend(ast.iter_child_nodes(node))
    return sorted(found)
