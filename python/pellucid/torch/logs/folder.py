# SPDX-License-Identifier: Apache-2.0
"""``import_log``: convert a log, or a folder with logs of several ranks, to captures and a page."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence

from pellucid.dump.store.directories import Job, claim
from pellucid.dump.store.session import Session, date_of
from pellucid.errors import NotALog
from pellucid.report import report

from ..capture.connection import collector_at_rest
from ..capture.spans import SpanReader
from . import settings
from .answers import Answers
from .convert import Conversion, Head, head_of
from .reader import Log

_OF_TRACE = "dedicated_log_torch_trace_"
_RANK = re.compile(r"(?:^|_)rank_(\d{1,9})_")
_SUFFIXES = (".log", ".log.gz")
_MOST_LOGS = 4096


@dataclass
class _Part:
    """One log of several."""

    log: Log
    head: Head
    folder: str = ""
    """The subdirectory of its capture."""


def import_log(
    log: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    sources: Sequence[str | os.PathLike[str]] = (),
    lenient: bool = False,
) -> Path:
    """Turn a ``TORCH_TRACE`` log into captures and a page; return the path of the page.

    PyTorch is not needed.  Only the log and files below ``sources`` are read.

    Args:
        log: a log, which may be gzipped, or the folder that ``TORCH_TRACE`` was set to.
        directory: the directory of the capture; several logs get one per rank below it.
        sources: folders that contain the program's source files, matched by the end of their paths.
        lenient: skip lines that do not belong to a record, and report how many there were.

    Raises:
        NotALog: there is no log, or a line does not belong to a record.  The capture of that log is
            removed; captures of the logs before it stay.
        OSError: the directory cannot be created.
    """
    roots = [Path(source) for source in sources]
    parts = [_Part(found, head_of(found)) for found in _logs(Path(log), lenient)]
    for part in parts:
        rank = _RANK.search(part.log.path.name)
        if rank is not None:
            part.head.rank = int(rank[1])
    _place(parts)
    with collector_at_rest():
        for part in parts:
            others = [other.head.settings for other in parts if other is not part]
            _convert(part, Path(directory), roots, others, _size(parts))
    return report(directory)


def _logs(path: Path, lenient: bool) -> list[Log]:
    """Return the logs at a path, sorted by name."""
    if not path.is_dir():
        if not path.exists():
            raise NotALog(str(path), 0, "no such file or directory")
        return [Log(path, lenient)]
    names = sorted(
        entry.name for entry in os.scandir(path) if entry.is_file() and _is_log(entry.name)
    )
    names = [name for name in names if name.startswith(_OF_TRACE)] or names
    if not names:
        raise NotALog(str(path), 0, "no log in this folder: no file ends in .log or .log.gz")
    if len(names) > _MOST_LOGS:
        raise NotALog(str(path), 0, f"more than {_MOST_LOGS} logs")
    return [Log(path / name, lenient) for name in names]


def _is_log(name: str) -> bool:
    return name.endswith(_SUFFIXES)


def _place(parts: list[_Part]) -> None:
    """Assign a subdirectory to each capture: by rank, or else by time."""
    parts.sort(key=lambda part: (part.head.began, part.log.path.name))
    if len(parts) == 1:
        return
    taken: set[str] = set()
    for part in parts:
        for name in _names(part.head.rank):
            if name not in taken:
                taken.add(name)
                part.folder = name
                break


def _names(rank: int | None) -> Iterator[str]:
    base = "" if rank is None else f"rank_{rank}"
    if base:
        yield base
    number = 1 if rank is None else 2
    while True:
        yield f"{base}/capture_{number}" if base else f"process_{number}"
        number += 1


def _size(parts: Sequence[_Part]) -> int | None:
    """Return the number of ranks; None outside a distributed job."""
    told = [part.head.size for part in parts if part.head.size is not None]
    ranks = [part.head.rank for part in parts if part.head.rank is not None]
    return max([*told, *(rank + 1 for rank in ranks)], default=None)


def _convert(
    part: _Part,
    directory: Path,
    roots: Sequence[Path],
    others: Sequence[dict[str, object]],
    size: int | None,
) -> None:
    owned = claim(directory / part.folder, Job())
    session = Session(owned.path, claim=owned)
    session.span_reader = SpanReader(part.head.began)
    session.date = date_of(part.head.began) if part.head.began else ""
    session.rank = part.head.rank
    session.world_size = size if part.head.rank is not None else None
    if part.folder.startswith("process_") or "/" in part.folder:
        session.process = part.folder.rpartition("/")[2]
    session.configuration = settings.changed(part.head.settings, others)
    conversion = Conversion(session, part.log, Answers(roots))
    try:
        conversion.read()
    except BaseException:
        session.discard()
        raise
    conversion.write()
