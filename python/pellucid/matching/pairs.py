# SPDX-License-Identifier: Apache-2.0
"""The `.pyc` files of inputs, each with the source that it should come from."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path, PurePath, PurePosixPath
from typing import Iterator, NamedTuple, Sequence

from pellucid.containers import Read
from pellucid.inputs import TAGGED, Job, find


class Pair(NamedTuple):
    """A `.pyc` file and the place of its source."""

    pyc: Job
    source_name: str
    """Where the source is, or was looked for."""
    source: Path | None
    """The source; None if it is, or would be, in an archive."""
    read_member: Read | None
    """Reads the source in an archive; None if there is none."""
    tag: str | None
    """The tag in its name if it is in ``__pycache__``, else empty; None with a given source."""
    optimize: int | None
    """The optimization level that its name gives; None if it gives none that Python knows."""

    def read_source(self) -> bytes | None:
        """Return the source; None if there is none.  Raises OSError or DecompileError."""
        if self.source is None:
            return None if self.read_member is None else self.read_member()
        return self.source.read_bytes() if self.source.is_file() else None

    @property
    def date(self) -> int | None:
        """Return the modification time of the source in seconds; None if unknown."""
        with contextlib.suppress(OSError):
            return None if self.source is None else int(self.source.stat().st_mtime)
        return None


def pairs_of(inputs: Sequence[str], source: str | None = None) -> Iterator[Pair]:
    """Yield the `.pyc` files of files, folders and archives, each with its source.

    Args:
        inputs: files, folders and archives.
        source: the source of all of them; otherwise it is the `.py` file that Python would compile
            into a `.pyc`, in the same folder or archive.

    Raises:
        DecompileError: an archive is damaged.
    """
    for path in map(Path, inputs):
        for _, group in itertools.groupby(find(path, sources=True), lambda found: found.path):
            files = list(group)
            sources = {f.member: f.read_member for f in files if f.is_source}
            for found in files:
                if found.is_source:
                    continue
                job = Job(found.path, None, found.member, found.read_member)
                place, tag, level = source_of(PurePosixPath(found.member or found.path))
                if source is not None:
                    yield Pair(job, source, Path(source), None, None, level)
                elif found.member is None:
                    yield Pair(job, str(place), Path(place), None, tag, level)
                else:
                    name = place.as_posix()
                    yield Pair(job, f"{found.path}/{name}", None, sources.get(name), tag, level)


def source_of(pyc: PurePath) -> tuple[PurePath, str, int | None]:
    """Return where the source of a `.pyc` is, its tag, and its optimization level.

    >>> where, *rest = source_of(PurePosixPath("pkg/__pycache__/mod.cpython-311.opt-2.pyc"))
    >>> str(where), rest
    ('pkg/mod.py', ['cpython-311', 2])
    >>> str(source_of(PurePosixPath("pkg/mod.pyc"))[0])
    'pkg/mod.py'
    """
    cached = TAGGED.fullmatch(pyc.stem) if pyc.parent.name == "__pycache__" else None
    if cached is None:
        return pyc.with_suffix(".py"), "", None
    level = cached["level"] or "0"
    optimize = int(level) if level in ("0", "1", "2") else None
    return pyc.parent.parent / f"{cached['stem']}.py", cached["tag"], optimize
