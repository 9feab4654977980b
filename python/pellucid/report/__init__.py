# SPDX-License-Identifier: Apache-2.0
"""One page for a capture, or for several: what compiled, what did not, why, and what to change.

It is one HTML file, made from what a dump says and nothing else; ``findings.json`` beside it holds
the findings for programs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Iterator, Sequence

if TYPE_CHECKING:
    from pellucid.dump.model.capture import Capture

    from .model import Page


def report(
    *directories: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    max_size: int = 25_000_000,
    redact: bool = False,
    editor: bool = False,
) -> Path:
    """Write the page of one or more captures, and ``findings.json`` next to it; return its path.

    Args:
        directories: directories that ``prepare_debug`` or ``pellucid run`` wrote.  The page
            includes the captures of ranks and other processes below them.
        out: the file to write (default: ``page.html`` in the first directory).
        max_size: if the page has more bytes, it leaves out stages and then kernels, and says so.
        redact: leave out the user's source code and the directories of paths.
        editor: add links that open VS Code (``vscode://file``); they contain full paths.

    Raises:
        NotADump: a directory does not contain a capture.
        OSError: the page cannot be written.
    """
    import json

    from pellucid.dump.model.capture import FINDINGS, PAGE

    from . import shrink
    from .page import html_of

    page = page_of(directories)
    if redact:
        shrink.redact(page)
    data = html_of(page, editor, redact).encode("utf-8", "replace")
    for note in shrink.steps(page) if len(data) > max_size else ():
        page.dropped.append(note)
        data = html_of(page, editor, redact).encode("utf-8", "replace")
        if len(data) <= max_size:
            break
    path = Path(out) if out is not None else Path(directories[0]) / PAGE
    findings = json.dumps(findings_of(page), indent=1, sort_keys=True)
    _write(path, data)
    _write(path.parent / FINDINGS, f"{findings}\n".encode("utf-8", "backslashreplace"))
    return path


def _write(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def report_at_end(directory: str | os.PathLike[str]) -> Path | None:
    """Write the page of a capture that has just ended; None where that went wrong.

    A page is for reading: that there is none is no failure of the program that was captured.
    """
    try:
        return report(directory)
    except Exception as error:
        if sys.stderr is not None:
            print(f"pellucid: no page: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def page_of(directories: Sequence[str | os.PathLike[str]]) -> Page:
    """Return the model of the page of some captures."""
    from pellucid.dump.store.load import load_all

    from .groups import first_difference, grouped, joined, name_of, usual_first
    from .model import Page, title_of, view_of
    from .pool import Pool

    pool = Pool()
    captures = []
    for directory in directories:
        for capture in load_all(directory):
            name = name_of(capture, Path(directory).name, len(directories) > 1)
            captures.append((name, capture))
    # A launcher compiles nothing: its ranks are what is looked for.
    captures = [(n, c) for n, c in captures if not _only_started(c)] or captures
    groups = usual_first(grouped(captures))
    views = []
    for names, capture in groups:
        view = view_of(capture, pool, joined(names) if len(captures) > 1 else "")
        view.names = names
        views.append(view)
    for view, group in zip(views, groups):
        others = groups[1:] if group is groups[0] else [group]
        view.findings[:0] = [first_difference(groups[0], other) for other in others[:8]]
    return Page(pool, views, title_of(views))


def _only_started(capture: Capture) -> bool:
    """Whether this is a process of which only the others below it matter."""
    compiled = any(hasattr(event, "key") for event in capture.events)
    return bool(capture.others) and capture.rank is None and not compiled


def findings_of(page: Page) -> dict[str, Any]:
    """Return what ``findings.json`` holds."""
    return {
        "tool": "pellucid",
        "schema": 1,
        "captures": [
            {"names": view.names, "counts": asdict(view.counts), "findings": view.findings}
            for view in page.views
        ],
    }


def write_dot(
    directories: Sequence[str | os.PathLike[str]], stage: str, folder: Path
) -> Iterator[Path]:
    """Write the graphs of a stage in the language of Graphviz; yield each file."""
    from pellucid.dump.model.events import Graph
    from pellucid.dump.store.load import load_all
    from pellucid.findings.lines import nodes_of

    from .layout import dot

    for directory in directories:
        for capture in load_all(directory):
            for graph in capture.of(Graph):
                nodes = nodes_of(capture, graph.file) if graph.stage == stage else ()
                if nodes:
                    path = folder / (graph.file.rpartition(".")[0] + ".dot")
                    path.write_text(dot(nodes, graph.file) + "\n", encoding="utf-8")
                    yield path


def write_trace(
    directories: Sequence[str | os.PathLike[str]], file: Path, redact: bool = False
) -> Path:
    """Write when the parts of the compiles were done, as a trace for Perfetto; return its path.

    Every capture is a process, with a thread for each compile; times are in microseconds since the
    capture began.
    """
    import json

    from pellucid.dump.store.load import load_all

    from .groups import name_of
    from .shrink import clean
    from .timeline import trace_of

    captures = [
        (name_of(capture, Path(directory).name, len(directories) > 1), capture)
        for directory in directories
        for capture in load_all(directory)
    ]
    trace = trace_of(captures)
    data = json.dumps(clean(trace) if redact else trace, separators=(",", ":"))
    _write(file, data.encode("ascii"))
    return file


class _Callable(ModuleType):
    """This module, which `pellucid.report` names: the attribute is the function as well."""

    def __call__(
        self,
        *directories: str | os.PathLike[str],
        out: str | os.PathLike[str] | None = None,
        max_size: int = 25_000_000,
        redact: bool = False,
        editor: bool = False,
    ) -> Path:
        return report(*directories, out=out, max_size=max_size, redact=redact, editor=editor)


sys.modules[__name__].__class__ = _Callable
