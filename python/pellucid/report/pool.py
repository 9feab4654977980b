# SPDX-License-Identifier: Apache-2.0
"""Distinct lines, each once, and files as lists of their numbers.

The files of a dump repeat one another: four of five of their lines stand somewhere else as well.
"""

from __future__ import annotations

from array import array
from typing import Iterable, List


class Pool:
    """The distinct lines of all files, and the distinct files as numbers of lines."""

    def __init__(self) -> None:
        self.lines: List[str] = []
        self.contents: List[array[int]] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[bytes, int] = {}

    def add(self, text: str) -> int:
        """Return the number of a file's content; equal files have one number."""
        lines = text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return self.add_lines(lines)

    def add_lines(self, lines: Iterable[str]) -> int:
        """Return the number of a content that is given as lines."""
        numbers = self._numbers
        content = array("I")
        for line in lines:
            number = numbers.setdefault(line, len(numbers))
            if number == len(self.lines):
                self.lines.append(line)
            content.append(number)
        return self._known.setdefault(content.tobytes(), self._append(content))

    def _append(self, content: array[int]) -> int:
        known = self._known.get(content.tobytes())
        if known is not None:
            return known
        self.contents.append(content)
        return len(self.contents) - 1

    def keep(self, contents: set[int]) -> None:
        """Forget the lines of all other contents."""
        wanted = {line for n in contents if n >= 0 for line in self.contents[n]}
        self.lines = [line if i in wanted else "" for i, line in enumerate(self.lines)]
        self.contents = [c if i in contents else array("I") for i, c in enumerate(self.contents)]

    def size(self, content: int) -> int:
        """Return how many lines a content has."""
        return len(self.contents[content])

    def text(self, content: int) -> List[str]:
        """Return the lines of a content."""
        return [self.lines[number] for number in self.contents[content]]
