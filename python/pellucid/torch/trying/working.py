# SPDX-License-Identifier: Apache-2.0
"""The working directory of a trial: it reads the program's files, and writes to copies.

Small files are copied. A large file, or a folder, is a link until something writes to it. Outside
the directory, a trial may add files but not change existing ones. An audit hook enforces both:
Python reports each file to it before opening. Files that native code opens are not reported, so a
large file that such code overwrites is not protected; :func:`announce` covers known cases.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Sequence

_MAY_WRITE = os.O_WRONLY | os.O_RDWR
_CHANGES = ("os.remove", "os.rmdir", "os.truncate", "os.chmod", "os.utime", "shutil.rmtree")
_CACHES = ("XDG_CACHE_HOME", "TORCH_HOME", "HF_HOME", "TRITON_CACHE_DIR", "TMPDIR")


_SMALL, _MOST = 16 * 2**20, 256 * 2**20


def link_into(folder: str, working: str) -> None:
    """Fill a working directory from another one: copy small files, link the rest."""
    copied = 0
    for entry in os.scandir(folder):
        there = os.path.join(working, entry.name)
        size = entry.stat().st_size if entry.is_file() else _MOST
        if size <= _SMALL and copied + size <= _MOST:
            with contextlib.suppress(OSError):  # an unreadable file
                shutil.copy2(entry.path, there)
                copied += size
                continue
        os.symlink(os.path.join(folder, entry.name), there)


def announce(function: Any, position: int) -> Any:
    """Report the file that a function is going to write, like Python's own ``open`` does."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        path = args[position] if len(args) > position else None
        if isinstance(path, (str, os.PathLike)):
            sys.audit("open", os.fspath(path), "wb", 0)
        return function(*args, **named)

    return call


class Working:
    """The working directory of this process.

    Args:
        working: the directory, which consists of links.
        kept: the directories whose files must not change, wherever they are.
    """

    def __init__(self, working: str, kept: Sequence[str]) -> None:
        self.working = os.path.realpath(working)
        self._trial = os.path.dirname(self.working)
        self._kept = [os.path.realpath(folder) for folder in kept]
        caches = [os.environ[name] for name in _CACHES if os.environ.get(name)]
        home = Path(os.path.expanduser("~"), ".cache")
        free = [tempfile.gettempdir(), str(home), os.devnull, *caches]
        self._free = [os.path.realpath(folder) for folder in free]
        self._inside = threading.local()

    def watch(self) -> None:
        """Watch every file that is opened for writing, moved or removed from now on."""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if getattr(self._inside, "busy", False):
            return
        paths: Sequence[Any] = ()
        keeps_content = True
        if event == "open" and not isinstance(given[0], int) and _writes(given[1], given[2]):
            paths, keeps_content = given[:1], "w" not in (given[1] or "")
        elif event in _CHANGES or event == "sqlite3.connect":
            paths = given[:1]
        elif event in ("os.rename", "os.link", "os.symlink"):
            paths = given[:2] if event == "os.rename" else given[1:2]
        elif event == "os.mkdir":
            paths = given[:1]
        for path in paths:
            if isinstance(path, (str, bytes, os.PathLike)):
                self._inside.busy = True
                try:
                    self._before(os.path.abspath(os.fsdecode(path)), event, keeps_content)
                finally:
                    self._inside.busy = False

    def _before(self, path: str, event: str, keeps_content: bool) -> None:
        if _below(path, self.working):
            self._own(path, copies=event in ("open", "sqlite3.connect", "os.truncate", "os.chmod"))
            return
        real = os.path.realpath(path)
        if _below(real, self._trial) or event == "os.mkdir" or not os.path.lexists(path):
            return
        is_kept = any(_below(real, folder) for folder in self._kept)
        if is_kept or not any(_below(real, folder) for folder in self._free):
            raise PermissionError(f"a trial may not change existing files: {path}")

    def _own(self, path: str, copies: bool) -> None:
        """Replace linked folders above a path by real ones, and its link by a copy."""
        parts = os.path.relpath(path, self.working).split(os.sep)
        at = self.working
        for number, part in enumerate(parts, 1):
            at = os.path.join(at, part)
            if not os.path.islink(at):
                continue
            source = os.path.realpath(at)
            if os.path.isdir(source) and (number < len(parts) or copies):
                os.unlink(at)
                os.mkdir(at)
                link_into(source, at)
            elif copies and os.path.isfile(source):
                os.unlink(at)
                shutil.copy2(source, at)


def _writes(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _MAY_WRITE)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
