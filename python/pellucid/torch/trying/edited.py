# SPDX-License-Identifier: Apache-2.0
"""A file of the program with a remedy in it: in the processes of a trial, and nowhere else."""

from __future__ import annotations

import io
import linecache
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from .edits import apply


def paths(file: str, copy: str) -> frozenset[str]:
    """Return where a file of the program is, all links followed.

    Args:
        file: its path.
        copy: where the program finds it by a path relative to its directory; empty if nowhere.
    """
    return frozenset(os.path.realpath(path) for path in (file, copy) if path)


class Edited:
    """The file, and what stands for it.

    Args:
        file: its path.
        diff: what the remedy changes.
        copy: as for :func:`paths`.

    Raises:
        DoesNotApply: the file has other lines.
        OSError: the file cannot be read.
    """

    def __init__(self, file: str, diff: str, copy: str = "") -> None:
        self.file = file
        self.copy = copy
        self.text = apply(Path(file).read_text(encoding="utf-8"), diff).text
        self.was_loaded = False
        self._paths = paths(file, copy)

    def is_at(self, path: object) -> bool:
        """Whether a path leads to the file."""
        if not isinstance(path, (str, os.PathLike)):
            return False
        return os.path.basename(path) == os.path.basename(self.file) and (
            os.path.realpath(path) in self._paths
        )

    def install(self) -> None:
        """Load the file with its changes from now on; tracebacks show them as well."""
        lines = self.text.splitlines(keepends=True)
        linecache.cache[self.file] = (len(self.text), None, lines, self.file)
        usual, opened = SourceFileLoader.get_code, io.open_code

        def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
            return self.code_of(loader.path) or usual(loader, name)

        def open_code(path: str) -> Any:
            found = opened(path)
            if not self.is_at(path):
                return found
            found.close()
            return io.BytesIO(self.text.encode())

        def hear(event: str, given: tuple[Any, ...]) -> None:
            self.was_loaded = self.was_loaded or (event == "open" and self.is_at(given[0]))

        SourceFileLoader.get_code = get_code  # type: ignore
        io.open_code = open_code  # what runs a script that another process has started
        sys.addaudithook(hear)

    def code_of(self, path: str) -> CodeType | None:
        """Return the code of the file; None for another one."""
        if not self.is_at(path):
            return None
        self.was_loaded = True
        return compile(self.text, path, "exec", dont_inherit=True)
