# SPDX-License-Identifier: Apache-2.0
"""A file of the program with a remedy applied, only in the processes of a trial."""

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
    """Return the paths of a file of the program, with links resolved.

    Args:
        file: its path.
        copy: its path in the trial's working directory; empty if it is not there.
    """
    return frozenset(os.path.realpath(path) for path in (file, copy) if path)


class Edited:
    """The file, with the edited text.

    Args:
        file: its path.
        diff: the edit.
        copy: as for :func:`paths`.

    Raises:
        DoesNotApply: the file has different lines.
        OSError: the file cannot be read.
    """

    def __init__(self, file: str, diff: str, copy: str = "") -> None:
        self.file = file
        self.copy = copy
        self.text = apply(Path(file).read_text(encoding="utf-8"), diff).text
        self.was_loaded = False
        self._paths = paths(file, copy)

    def is_at(self, path: object) -> bool:
        """Return true if a path leads to the file."""
        if not isinstance(path, (str, os.PathLike)):
            return False
        return os.path.basename(path) == os.path.basename(self.file) and (
            os.path.realpath(path) in self._paths
        )

    def install(self) -> None:
        """Make Python load the edited text from now on; tracebacks show it too."""
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
        io.open_code = open_code  # used when another process starts the script
        sys.addaudithook(hear)

    def code_of(self, path: str) -> CodeType | None:
        """Return the code of the file; None for other files."""
        if not self.is_at(path):
            return None
        self.was_loaded = True
        return compile(self.text, path, "exec", dont_inherit=True)
