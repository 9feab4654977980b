# SPDX-License-Identifier: Apache-2.0
"""A page that is made smaller, or that holds less of what is private."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List

from pellucid.dump.model.graph_text import FILE_COMMENT

from .files import GRAPH, KERNEL
from .model import Page

_SHOWN_STAGES = ("captured", "forward", "backward", "inference")
_PATH = re.compile(r"(?<![\w.])(?:/[\w.@+~ -]+)+/(?=[\w.@+-]+)|\b[A-Za-z]:(?:\\[\w.@+ -]+)+\\")
_CODE = re.compile(
    rf"({FILE_COMMENT}.*?), code: .*|^(\s*#\s*\S+\.py:\d+(?:-\d+)?)  .*|(  # \S+\.py:\d+)  .*"
)


def steps(page: Page) -> Iterator[str]:
    """Drop one kind of content after the other; yield what the page is to say of each."""
    _drop(page, lambda f: f.kind == GRAPH and f.stage not in (*_SHOWN_STAGES, "joint"))
    yield "Intermediate graph stages were left out to keep the page small."
    _drop(page, lambda f: f.stage == "joint")
    yield "Joint graphs were left out too."
    _drop(page, lambda f: f.kind == KERNEL)
    yield "Kernel files were left out too."
    for view in page.views:
        for function in view.functions:
            for row in function.rows:
                if not row.differs and not row.failed:
                    row.cells = [row.cells[0], *([None] * (len(row.cells) - 1))]
    yield "Guards shared by several versions are shown once."
    _drop(page, lambda f: f.kind == GRAPH or f.stage.startswith("inductor"))
    yield "All graphs and programs were left out."


def _drop(page: Page, which: Any) -> None:
    empty = page.pool.add_lines(["(left out)"])
    for view in page.views:
        for number, file in enumerate(view.files.files):
            if which(file) and file.content >= 0:
                file.content = empty
                view.nodes.pop(file.name, None)
                view.dropped.add(number)
        gone = {n for span, n in view.links.spans.items() if span[0] in view.dropped}
        view.links.edges = {
            pair: how for pair, how in view.links.edges.items() if not gone.intersection(pair)
        }
        view.links.spans = {s: n for s, n in view.links.spans.items() if n not in gone}
    page.pool.keep({file.content for view in page.views for file in view.files.files})


def redact(page: Page) -> None:
    """Leave out the user's source, and the directories of all paths."""
    for view in page.views:
        for file, user in zip(view.files.files, view.users):
            file.content = page.pool.add_lines([""] * len(user.lines))
            user.lines = [""] * len(user.lines)
    page.pool.keep({file.content for view in page.views for file in view.files.files})
    page.pool.lines = [without_paths(_CODE.sub(r"\1\2\3", line)) for line in page.pool.lines]
    for view in page.views:
        view.redacted = True
        view.findings = [_plain(finding) for finding in view.findings]
    page.title = without_paths(page.title)


def _plain(finding: Dict[str, Any]) -> Dict[str, Any]:
    lines = [{**line, "code": ""} for line in finding.get("lines", ())]
    remedies = [{**remedy, "diff": ""} for remedy in finding.get("remedies", ())]
    kept = dict(finding, code="", diff="", quoted="", lines=lines, remedies=remedies)
    made: Dict[str, Any] = clean(kept)
    return made


def clean(value: Any) -> Any:
    """Return a value without the directories of the paths in its texts."""
    if isinstance(value, str):
        return without_paths(value)
    if isinstance(value, dict):
        return {clean(key): clean(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        cleaned: List[Any] = [clean(each) for each in value]
        return cleaned
    return value


def without_paths(text: str) -> str:
    """Return a text with the names of files, but not where they are.

    >>> without_paths("# File: /home/me/work/toy.py:3 in f")
    '# File: toy.py:3 in f'
    """
    return _PATH.sub("", text)
