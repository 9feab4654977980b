# SPDX-License-Identifier: Apache-2.0
"""The files of a capture that the page shows, in one order, with what each of them is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Frame, Graph, KernelFile, Wrappers
from pellucid.findings.lines import UserFile

from .pool import Pool

USER, TRANSFORMED, FULL, GRAPH, PROGRAM, KERNEL, GUARDS = (
    *("user", "transformed", "full"),
    *("graph", "program", "kernel", "guards"),
)


@dataclass
class File:
    """One file that a pane can show."""

    name: str
    kind: str
    content: int
    size: int
    key: str = ""
    stage: str = ""
    base: int = 0
    """The number of its first line when the lines of all files are counted through."""


class Files:
    """The files of one capture, by number and by name."""

    def __init__(self, capture: Capture, users: List[UserFile], pool: Pool) -> None:
        self.files: List[File] = []
        self.number: Dict[str, int] = {}
        self._lines = 0
        self._pool = pool
        for user in users:
            self.add(user.path, USER, pool.add_lines(user.lines))
        for frame in capture.of(Frame):
            self._dumped(capture, frame.file, TRANSFORMED, str(frame.key))
        for name in capture.files:
            if name.startswith("full_code_for_"):
                self._dumped(capture, name, FULL)
        for graph in capture.of(Graph):
            kind = PROGRAM if graph.is_program else GRAPH
            stage = f"{graph.stage} ({graph.told})" if graph.metadata else graph.stage
            self._dumped(capture, graph.file, kind, str(graph.key), stage)
        for wrappers in capture.of(Wrappers):
            self._dumped(capture, wrappers.file, GRAPH, str(wrappers.key), "runtime_wrappers")
        for kernel in capture.of(KernelFile):
            self._dumped(capture, kernel.file, KERNEL, str(kernel.key))

    def _dumped(
        self, capture: Capture, name: str, kind: str, key: str = "", stage: str = ""
    ) -> None:
        if name and name not in self.number:
            text = capture.text(name)
            if text:
                self.add(name, kind, self._pool.add(text), key, stage)

    def add(self, name: str, kind: str, content: int, key: str = "", stage: str = "") -> int:
        """Add a file; return its number."""
        size = self._pool.size(content) if content >= 0 else 0
        return self.add_rows(name, kind, content, size, key, stage)

    def add_rows(
        self, name: str, kind: str, content: int, size: int, key: str = "", stage: str = ""
    ) -> int:
        """Add what has rows, with a content or without (-1); return its number."""
        number = self.number[name] = len(self.files)
        self.files.append(File(name, kind, content, size, key, stage, self._lines))
        self._lines += size
        return number

    def lines(self, number: int) -> List[str]:
        """Return the lines of a file."""
        return self._pool.text(self.files[number].content)
