# SPDX-License-Identifier: Apache-2.0
"""The table on disk: a folder of Parquet files, partitioned by the version of Python.

A part appears whole or not at all, and says by its rows which files are done: after a kill the next
run does those that no part has.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import IO, Any, Dict, List, Optional

from pellucid._version import __version__
from pellucid.corpus.rows import COLUMNS, LIMITED, PYTHON, Row, schema

_FACTS = "_corpus.json"
_LOCK = ".lock"
_MOST_ROWS = 2000
_MOST_TEXT = 64_000_000
_MOST_SECONDS = 20.0
_REPEATED = [
    *("outcome", "tier", "reason", "error"),
    *("functions.list.element.verdict", "functions.list.element.reason"),
    *("diagnostics.list.element.message", "notes.list.element"),
]
"""Columns of few values: each is written once, and its number in the rows."""
_SOUGHT = ["sha256", "size", "outcome", "lines", "tier", "seconds"]
"""Columns whose least and greatest value spare a reader of the table most of it."""


class NoTable(ValueError):
    """Say why a folder cannot take the rows."""


class Store:
    """A table that rows are added to; a context manager, which writes what is left."""

    def __init__(self, folder: Path, tier: str, retry_limited: bool = False) -> None:
        """Open or make the table; with `retry_limited`, drop the rows that a limit stopped.

        Raises:
            NoTable: the folder is something else, in use, or made in another way.
            OSError: it cannot be written.
        """
        self._folder = folder
        self._rows: Dict[str, List[Row]] = {}
        self._text = 0
        self._since = time.monotonic()
        self._lock: Optional[IO[str]] = None
        facts = {"tool": "pellucid", "version": __version__, "tier": tier or "none"}
        if folder.exists() and not folder.is_dir():
            raise NoTable(f"{folder}: not a folder")
        folder.mkdir(parents=True, exist_ok=True)
        others = {path.name for path in folder.iterdir()} - {_LOCK, f".unfinished-{_FACTS}"}
        if others and not (folder / _FACTS).exists():
            raise NoTable(f"{folder}: not empty, and not a table of pellucid corpus")
        self._take_lock()
        self._check(facts)
        for unfinished in folder.glob("*/.unfinished-*"):
            unfinished.unlink()
        if retry_limited:
            self._drop_limited()
        self.done: Dict[bytes, str] = self._read_done()
        """The outcome of each file that had a row when the table was opened, by its digest."""

    def _take_lock(self) -> None:
        self._lock = (self._folder / _LOCK).open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise NoTable(f"{self._folder}: another run is writing to it") from None

    def _check(self, facts: Dict[str, str]) -> None:
        place = self._folder / _FACTS
        if not place.exists():
            _write_whole(place, json.dumps(facts, indent=1).encode("ascii") + b"\n")
            return
        try:
            before = json.loads(place.read_bytes())
        except ValueError:
            raise NoTable(f"{place}: not JSON") from None
        differ = [name for name in facts if before.get(name) != facts[name]]
        if differ:
            was = " and ".join(_words(name, before.get(name)) for name in differ)
            raise NoTable(f"{self._folder}: made {was}, so its rows would not be comparable")

    def _drop_limited(self) -> None:
        """Write the parts again that have such rows, without them: a kill loses no other row."""
        import pyarrow.parquet

        for part in sorted(self._folder.glob(f"{PYTHON}=*/*.parquet")):
            table = pyarrow.parquet.ParquetFile(part).read()
            errors = table["error"].to_pylist()
            kept = [error is None or not error.startswith(LIMITED) for error in errors]
            if not any(kept):
                part.unlink()
            elif not all(kept):
                _write_whole(part, _packed(table.filter(kept)))

    def _read_done(self) -> Dict[bytes, str]:
        import pyarrow.parquet

        done: Dict[bytes, str] = {}
        for part in sorted(self._folder.glob(f"{PYTHON}=*/*.parquet")):
            columns = pyarrow.parquet.read_table(part, columns=["sha256", "outcome"])
            digests = map(bytes.fromhex, columns["sha256"].to_pylist())
            done.update(zip(digests, map(sys.intern, columns["outcome"].to_pylist())))
        return done

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.flush()
        finally:
            if self._lock is not None:
                self._lock.close()

    def add(self, row: Row) -> None:
        """Add a row; it is on disk after a while, and at the end."""
        self._rows.setdefault(row[PYTHON], []).append(row)
        self._text += len(row["source"] or "")
        many = sum(map(len, self._rows.values())) >= _MOST_ROWS
        if many or self._text >= _MOST_TEXT or time.monotonic() - self._since > _MOST_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what was added."""
        for version, rows in self._rows.items():
            self._write_part(version, rows)
        self._rows.clear()
        self._text, self._since = 0, time.monotonic()

    def _write_part(self, version: str, rows: List[Row]) -> None:
        import pyarrow as pa

        folder = self._folder / f"{PYTHON}={version}"
        folder.mkdir(exist_ok=True)
        columns: Dict[str, List[Any]] = {name: [row[name] for row in rows] for name in COLUMNS}
        table = pa.table(columns, schema=schema())
        _write_whole(folder / f"part-{uuid.uuid4().hex}.parquet", _packed(table))


def _words(name: str, value: Any) -> str:
    """Say how a table was made, by the options that would make it so again."""
    if name == "tier":
        return {"best": "with --verify", "none": "with --no-verify"}.get(
            str(value), f"with --verify={value}"
        )
    return f"by pellucid {value}" if name == "version" else f"by {value}"


def _packed(table: Any) -> bytes:
    """Return a table as a file of Parquet."""
    import pyarrow as pa
    import pyarrow.parquet

    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(
        table, sink, compression="zstd", use_dictionary=_REPEATED, write_statistics=_SOUGHT
    )
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _write_whole(place: Path, data: bytes) -> None:
    unfinished = place.with_name(f".unfinished-{place.name}")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, place)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
