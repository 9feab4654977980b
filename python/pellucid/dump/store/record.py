# SPDX-License-Identifier: Apache-2.0
"""The record of a capture as text: readable JSON that is the same in every run."""

from __future__ import annotations

import functools
import gzip
import json
from dataclasses import fields, is_dataclass
from typing import Any

from ..model.capture import Capture
from ..model.events import CacheUse, Source, Started, Unknown
from ..model.names import scrub

SCHEMA = 2
"""The format version that is written; versions from 1 on can be loaded."""
RECORD = "session.json"
TIMES = "times.json"
SOURCES = "sources.json.gz"
KEYS = "cache_keys.json.gz"

_line = json.JSONEncoder(ensure_ascii=False).encode
_ALWAYS = object()


def record_text(capture: Capture) -> str:
    """Return the whole capture as text: every event, in order, and the names of the files.

    Two runs of the same program produce the same text.
    """
    started = sum(isinstance(event, Started) for event in capture.events)
    record = {
        "tool": "pellucid",
        "schema": SCHEMA,
        "versions": dict(capture.versions),
        "configuration": dict(capture.configuration),
        "rank": capture.rank,
        "world_size": capture.world_size,
        "process": capture.process,
        "compiles_started": started,
        "events": [event_to_plain(event) for event in capture.events],
        "caches": [
            {"function": number, "entries": to_plain(entries)}
            for number, entries in capture.caches.items()
        ],
        "files": list(capture.files),
    }
    return to_text(record)


def times_text(capture: Capture) -> str:
    """Return the data that differs between runs, as text: the command line, the compile times."""
    record = {
        "tool": "pellucid",
        "schema": SCHEMA,
        "command": list(capture.command),
        "folder": capture.folder,
        "started": list(capture.started),
        "started_in": capture.started_in,
        "date": capture.date,
        "times": to_plain(capture.times),
        "spans": to_plain(capture.spans),
    }
    return to_text(record)


def side_files(capture: Capture) -> dict[str, bytes]:
    """Return the files for data that is too big for the record, by name."""
    sources: dict[str, list[Any]] = {}
    for source in capture.of(Source):
        sources.setdefault(source.file, []).append([source.first, source.text])
    keys = {use.cache_key: list(use.components) for use in capture.of(CacheUse) if use.components}
    pool = {line: number for number, line in enumerate(sorted(set().union(*keys.values())))}
    numbered = {key: [pool[line] for line in lines] for key, lines in keys.items()}
    tables = {SOURCES: sources, KEYS: {"lines": list(pool), "keys": numbered} if keys else {}}
    return {name: _packed(table) for name, table in tables.items() if table}


def _packed(table: Any) -> bytes:
    text = json.dumps(table, ensure_ascii=True, separators=(",", ":"))
    return gzip.compress(text.encode("ascii"), 6, mtime=0)


def event_to_plain(event: Any) -> dict[str, Any]:
    """Return an event as plain values, with its kind."""
    if isinstance(event, Unknown):
        return {"event": event.event, **to_plain(event.values)}
    return {"event": type(event).__name__, **to_plain(event)}


def to_plain(value: Any) -> Any:
    """Return a value of an event as JSON values."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    kind: type = type(value)
    columns = _fields_in_record(kind)
    if columns is not None:
        found = ((name, getattr(value, name), default) for name, default in columns)
        return {name: to_plain(item) for name, item, default in found if item != default}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return scrub(repr(value))


@functools.lru_cache(maxsize=None)
def _fields_in_record(kind: type) -> tuple[tuple[str, Any], ...] | None:
    """Return the fields of an event in the record, each with the value that is omitted.

    None if it is not a dataclass.
    """
    if not is_dataclass(kind):
        return None
    return tuple(
        (field.name, field.default if field.metadata.get("sparse") else _ALWAYS)
        for field in fields(kind)
        if not field.metadata.get("in_file")
    )


def to_text(value: Any) -> str:
    """Return plain values as JSON with one line per entry of a list of objects.

    The standard library indents everything or nothing, and is ten times slower.
    """
    return _text(value, "") + "\n"


def _text(value: Any, indent: str) -> str:
    inner = indent + " "
    if _is_table(value):
        items = [inner + _text(item, inner) for item in value]
    elif isinstance(value, dict) and (not indent or not _TABLES.isdisjoint(value)):
        items = [f"{inner}{_line(str(key))}: {_text(item, inner)}" for key, item in value.items()]
    else:
        return _line(value)
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n" + ",\n".join(items) + f"\n{indent}{end}"


# Keys whose lists have one line per entry, besides the record's own tables.
_TABLES = frozenset(["entries", "guards"])


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
