# SPDX-License-Identifier: Apache-2.0
"""Loading of a dump: the directory that a capture wrote, as a :class:`.Capture`.

Schemas 1 and 2 are supported.  Of a newer schema, unknown fields are left out and unknown events
become :class:`.Unknown`.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import zlib
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, Iterator, Mapping

from pellucid.errors import NotADump

from ..model import events
from ..model.capture import Capture
from ..model.events import CacheEntry, CacheUse, Source, Span, Times, Unknown
from ..model.guard_places import user_files, with_places, with_whole_paths
from .record import KEYS, RECORD, SOURCES, TIMES
from .values import Mismatch, value_of

_DEEPEST = 6
_BELOW = re.compile(r"(?:rank|process|capture|fork)(?:_\w+)?\Z")
_REMEDY = "Pass the directory given to --out"


def load(directory: str | os.PathLike[str]) -> Capture:
    """Load a capture.

    Args:
        directory: the directory of the capture, or its ``session.json``.

    Raises:
        NotADump: there is no capture, or it cannot be read.

    >>> load("/no/such/directory")
    Traceback (most recent call last):
    pellucid.errors.NotADump: /no/such/directory: no such directory
    """
    folder = Path(directory)
    if folder.name == RECORD and folder.is_file():
        folder = folder.parent
    record = _record(folder)
    file = str(folder / RECORD)
    try:
        found = _filled(_events(record.get("events")), folder)
        caches = {
            int(cache["function"]): tuple(value_of(CacheEntry, e) for e in cache["entries"])
            for cache in record.get("caches") or ()
        }
        times, spans, ran = _times(folder)
        files = user_files(found)
        return Capture(
            directory=folder.resolve(),
            schema=int(record["schema"]),
            versions=_strings(record.get("versions")),
            configuration=_strings(record.get("configuration")),
            events=with_whole_paths(found, files),
            caches=with_places(caches, files),
            files=tuple(map(str, record.get("files") or ())),
            times=times,
            spans=spans,
            rank=record.get("rank"),
            world_size=record.get("world_size"),
            process=str(record.get("process") or ""),
            **ran,
            others=captures_below(folder),
        )
    except Mismatch as error:
        raise NotADump(f"{file}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise NotADump(f"{file}: {type(error).__name__}: {error}") from None


def load_all(directory: str | os.PathLike[str]) -> tuple[Capture, ...]:
    """Load the capture of a directory, and those of other ranks and processes below it.

    Raises:
        NotADump: there is no capture, or one of them cannot be read.
    """
    folder = Path(directory)
    below = captures_below(folder)
    own = (load(folder),) if (folder / RECORD).exists() or not below else ()
    return (*own, *(load(folder / name) for name in below))


def captures_below(directory: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the captures of other ranks and processes below a directory, in natural order."""
    folder = Path(directory)
    return tuple(sorted(_below(folder, "", 0), key=_natural))


def _below(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    children: list[Path] = []
    with contextlib.suppress(OSError):
        children = [child for child in (folder / prefix).iterdir() if child.is_dir()]
    for child in children:
        name = f"{prefix}{child.name}"
        is_capture = (child / RECORD).is_file()
        if is_capture:
            yield name
        if (is_capture or _BELOW.match(child.name)) and depth < _DEEPEST:
            yield from _below(folder, f"{name}/", depth + 1)


def _natural(name: str) -> list[Any]:
    parts = re.split(r"(\d+)", name)
    return [(int(p), "") if p.isdigit() else (-1, p) for p in parts]


def _record(folder: Path) -> Mapping[str, Any]:
    path = folder / RECORD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except NotADirectoryError:
        raise NotADump(f"{folder}: not a capture: this is a file. {_REMEDY}") from None
    except FileNotFoundError:
        if not folder.is_dir():
            raise NotADump(f"{folder}: no such directory") from None
        below = captures_below(folder)
        remedy = f"There are captures in {', '.join(below)}" if below else _REMEDY
        raise NotADump(f"{folder}: not a capture: no {RECORD}. {remedy}") from None
    except OSError as error:
        raise NotADump(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise NotADump(f"{path}: not JSON: {error}") from None
    if not isinstance(record, dict) or record.get("tool") != "pellucid":
        raise NotADump(f"{path}: not written by pellucid")
    if not isinstance(record.get("schema"), int):
        raise NotADump(f"{path}: it has no schema version")
    return record


def _events(listed: Any) -> Iterator[Any]:
    for number, values in enumerate(listed):
        name = str(values["event"])
        rest = {key: value for key, value in values.items() if key != "event"}
        kind = getattr(events, name, None)
        if isinstance(kind, type) and is_dataclass(kind):
            try:
                yield value_of(kind, rest)
            except Mismatch as error:
                raise Mismatch(f"event {number}: {error}") from None
        else:
            yield Unknown(name, rest)


def _filled(found: Iterator[Any], folder: Path) -> tuple[Any, ...]:
    """Return the events with the content of side files."""
    texts, table = _side_file(folder / SOURCES), _side_file(folder / KEYS)
    lines, keys = list(map(str, table.get("lines", ()))), table.get("keys", {})
    result = []
    for event in found:
        if isinstance(event, Source):
            parts = {part[0]: str(part[1]) for part in texts.get(event.file, ())}
            event = replace(event, text=parts.get(event.first, ""))
        elif isinstance(event, CacheUse) and event.cache_key in keys:
            event = replace(event, components=tuple(lines[n] for n in keys[event.cache_key]))
        result.append(event)
    return tuple(result)


def _side_file(path: Path) -> Mapping[str, Any]:
    """Return the table in a side file; empty if it is missing or cannot be read."""
    with contextlib.suppress(OSError, EOFError, ValueError, zlib.error, RecursionError):
        table = json.loads(gzip.decompress(path.read_bytes()))
        return table if isinstance(table, dict) else {}
    return {}


_WORDS = ("folder", "started_in", "date")


def _times(folder: Path) -> tuple[tuple[Times, ...], tuple[Span, ...], dict[str, Any]]:
    """Return the times of a dump, and how it was run; empty if that file is missing."""
    try:
        record = json.loads((folder / TIMES).read_text(encoding="utf-8"))
        times = tuple(value_of(Times, entry) for entry in record.get("times") or ())
        spans = tuple(value_of(Span, entry) for entry in record.get("spans") or ())
        ran: dict[str, Any] = {
            name: tuple(map(str, record.get(name) or ())) for name in ("command", "started")
        }
        ran.update((name, str(record.get(name) or "")) for name in _WORDS)
        return times, spans, ran
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return (), (), {}


def _strings(table: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in (table or {}).items()}
