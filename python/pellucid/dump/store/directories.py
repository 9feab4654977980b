# SPDX-License-Identifier: Apache-2.0
"""A separate directory for each capture, even if several processes capture to the same place.

Rank N of a distributed job gets ``rank_N``, a child process of ``multiprocessing`` ``process_N``:
names that are the same in every run.  The remaining conflicts, two programs at once or nested
captures, are resolved by a lock on the directory: the second one gets ``capture_2``.  The system
releases the lock when its process ends for any reason.

If the directory was chosen automatically (``PELLUCID_DUMP``, a forked child), a mark in it records
the run and the program that wrote it.  Files of the same run or of another program are never
replaced; those of an earlier run of the same program are.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

PREFIX = ".pellucid-"
"""The prefix of files that are not part of a dump: the lock, the list and temporary files."""

_LOCK = f"{PREFIX}lock"
_MARK = f"{PREFIX}run"
_numbers = itertools.count()


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file atomically: a reader sees the old or the new content, never a part."""
    # A lone surrogate in a user's string must not prevent writing the file.
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    temporary = path.parent / f"{PREFIX}{os.getpid()}-{next(_numbers)}"
    try:
        temporary.write_bytes(data)
        os.replace(str(temporary), str(path))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(str(temporary))
        raise


@dataclass(frozen=True)
class Job:
    """The place of a process in a distributed job; the default is none."""

    rank: int = 0
    size: int = 1
    joined: bool = False
    """Whether the rank is this process's own rather than its parent's."""


@dataclass(frozen=True)
class Mark:
    """The run and the program that wrote a directory."""

    run: str
    program: str

    def is_taken(self, directory: Path) -> bool:
        """Return true if a directory must not be replaced: it is of this run or another program."""
        with contextlib.suppress(OSError, ValueError):
            run, _, program = (directory / _MARK).read_text("utf-8").partition("\n")
            return run == self.run or program != self.program
        return False

    def put(self, directory: Path) -> None:
        """Write the mark to a directory."""
        (directory / _MARK).write_text(f"{self.run}\n{self.program}", "utf-8", "replace")

    def remove_below(self, directory: Path) -> None:
        """Remove the marks of this run from the directories below this one."""
        for path in directory.glob(f"*/{_MARK}"):
            if self.is_taken(path.parent):
                with contextlib.suppress(OSError):
                    path.unlink()


def this_program() -> str:
    """Return the file of this process's program; empty if it has none."""
    return str(getattr(sys.modules.get("__main__"), "__file__", None) or "")


def this_command() -> tuple[str, ...]:
    """Return the command line of this process's program: a script or ``-m``, and arguments.

    Empty if there is no file to run again, for instance in a notebook.
    """
    main = sys.modules.get("__main__")
    name = getattr(getattr(main, "__spec__", None), "name", "")
    if name:
        return (
            "-m",
            name[: -len(".__main__")] if name.endswith(".__main__") else name,
            *sys.argv[1:],
        )
    file = this_program()
    return (os.path.abspath(file), *sys.argv[1:]) if file and os.path.isfile(file) else ()


class Claim:
    """A directory that belongs to one open capture."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    def release(self) -> None:
        """Release the directory; a second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        with contextlib.suppress(OSError):
            (self.path / _LOCK).unlink()
        _unlock(handle)

    def abandon(self) -> None:
        """Drop the claim in a forked child; it stays the parent's."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def numbered(name: str) -> Iterator[Path]:
    """Yield the directories ``name``, ``name_2``, ``name_3`` and so on."""
    yield Path(name)
    for number in itertools.count(2):
        yield Path(f"{name}_{number}")


def free(name: str) -> Path:
    """Return the first of the :func:`numbered` directories that is missing or empty.

    The ranks of a job share one, with a subdirectory each.
    """
    if "RANK" in os.environ:
        return Path(name)
    return next(path for path in numbered(name) if not _is_taken(path))


def _is_taken(path: Path) -> bool:
    if path.is_dir():
        with contextlib.suppress(OSError):
            return any(path.iterdir())
    return os.path.lexists(path)


def claim(base: Path, job: Job, mark: Mark | None = None, first: bool = True) -> Claim:
    """Create and claim the directory of a capture that this process opens.

    Args:
        base: the directory that the user asked for.
        job: the place of this process in a distributed job.
        mark: identifies what must not be replaced; without one, anything may be.
        first: whether this process may use ``base``, or the rank's directory below it.

    Raises:
        OSError: the directory cannot be created.
    """
    path = Path(os.path.abspath(str(base)))
    if job.size > 1 or job.rank > 0:
        path = path / f"rank_{job.rank}"
    child = child_number()
    if child and not job.joined:
        path = path / f"process_{child}"
    return _first_free(path, "capture", mark, first or bool(child) or job.joined)


def claim_for_fork(parent: Path, mark: Mark) -> Claim:
    """Create and claim a directory in a process that was forked inside a capture."""
    child = child_number()
    if child:
        return _first_free(parent / f"process_{child}", "capture", mark)
    return _first_free(parent, "fork", mark, whole=False)


def child_number() -> str:
    """Return this ``multiprocessing`` child's number: ``2``; ``2_1`` for its child; or empty."""
    if multiprocessing.parent_process() is None:
        return ""
    process = multiprocessing.current_process()
    identity = getattr(process, "_identity", ()) or (process.name.rpartition("-")[2],)
    return "_".join(map(str, identity))


def _first_free(path: Path, word: str, mark: Mark | None, whole: bool = True) -> Claim:
    for candidate in _candidates(path, word, whole):
        candidate.mkdir(parents=True, exist_ok=True)
        handle = _lock(candidate / _LOCK)
        if handle is False:
            continue
        found = Claim(candidate, handle)
        if mark is None:
            return found
        if not mark.is_taken(candidate):
            mark.put(candidate)
            return found
        found.release()
    raise AssertionError("the candidates have no end")


def _candidates(path: Path, word: str, whole: bool) -> Iterator[Path]:
    if whole:
        yield path
    for number in itertools.count(2):
        yield path / f"{word}_{number}"


def _lock(path: Path) -> Any:
    """Lock a file, which may be new: return a handle, False if taken, None without locks."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: the last writer of a file wins
        return None
    while True:
        handle = os.open(str(path), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        except OSError:  # a file system without locks
            os.close(handle)
            return None
        # The previous owner may have removed the file between opening and locking.
        with contextlib.suppress(OSError):
            if os.stat(str(path)).st_ino == os.fstat(handle).st_ino:
                return handle
        os.close(handle)


def _unlock(handle: int) -> None:
    import fcntl

    with contextlib.suppress(OSError):
        # Unlock explicitly, since a forked child may have inherited the lock and would keep it.
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def remove_litter(directory: Path) -> None:
    """Remove leftovers of a killed capture from a directory that is ours now."""
    for path in directory.glob(f"{PREFIX}*"):
        if path.name not in (_LOCK, _MARK):
            with contextlib.suppress(OSError):
                path.unlink()
