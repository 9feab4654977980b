# SPDX-License-Identifier: Apache-2.0
"""Reader for a log of torch's structured trace.

A record is a line of JSON after a glog prefix, and a payload on lines that begin with a tab::

    V0102 10:11:05.874000 30270 torch/_dynamo/utils.py:2350] {"dynamo_start": {…}, "frame_id": 0}
        the payload

The log is not trusted: reading is bounded, and every error has its position.  A log that ends in
the middle of a record is not an error; its process was killed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
import zlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Callable, Generator, Iterator, Mapping, cast

from pellucid.errors import NotALog

LONGEST_LINE = 64 << 20
"""In bytes; torch breaks payloads into lines, and metadata should be below a MiB."""
LARGEST_PAYLOAD = 256 << 20
LARGEST_LOG = 8 << 30
"""In bytes, after decompression."""
MOST_RECORDS = 10_000_000
_LONGEST_NUMBER = 25
_PREFIX = re.compile(
    rb"(?P<level>[VIWEC])(?P<date>\d{4}) (?P<time>\d\d:\d\d:\d\d\.\d{1,9}) +(?P<thread>\d{1,20}) "
    rb"[^\]]{1,1000}\] *(?=\{)"
)
_AT_MOST = 2000
"""How far into a line its prefix may extend: log shippers may add a prefix of their own."""
_HASH = "has_payload"


@dataclass(frozen=True)
class Entry:
    """One record of a log."""

    line: int
    """Its first line, starting at 1."""
    thread: int
    """The number in glog's prefix: of the process, or the thread."""
    metadata: Mapping[str, Any]
    payload: str | None


class Log:
    """One log of one process.

    Args:
        path: the file, which may be gzipped.
        lenient: whether to skip lines that do not belong to a record.
    """

    def __init__(self, path: Path, lenient: bool = False) -> None:
        self.path = path
        self._lenient = lenient
        self.lines = 0
        """The number of lines read."""
        self.passed = 0
        """The number of lines skipped."""
        self.cut = ""
        """What is missing at the end; empty for a log that ends with a complete record."""

    def entries(self, wanted: Callable[[Mapping[str, Any]], bool]) -> Iterator[Entry]:
        """Yield the records whose metadata is ``wanted``, in order.

        Raises:
            NotALog: the file cannot be read, or a line does not belong to a record.
        """
        self.lines = self.passed = 0
        self.cut = ""
        for number, entry in enumerate(self._records(wanted), 1):
            if number > MOST_RECORDS:
                raise self._error(entry.line, f"more than {MOST_RECORDS} records")
            yield entry

    def _records(self, wanted: Callable[[Mapping[str, Any]], bool]) -> Iterator[Entry]:
        open_record: _Open | None = None
        with closing(self._read_lines()) as lines:
            for line in lines:
                if line[:1] == b"\t":
                    if open_record is not None:
                        open_record.add(line, self)
                        continue
                    self.pass_over(self.lines, "a payload without a record")
                    continue
                begun = self._begun(line, wanted)
                if begun is not None:
                    if open_record is not None and open_record.is_wanted:
                        yield open_record.entry()
                    open_record = begun
        if open_record is None:
            return
        if not self.cut and not open_record.is_whole():
            self.cut = f"the record of line {open_record.line} is incomplete"
        if not self.cut and open_record.is_wanted:
            yield open_record.entry()

    def _begun(self, line: bytes, wanted: Callable[[Mapping[str, Any]], bool]) -> _Open | None:
        """Return the record that a line begins; None if it is skipped or incomplete."""
        is_last = not line.endswith(b"\n")
        found = _PREFIX.search(line, 0, _AT_MOST)
        if found is None:
            if is_last:
                self.cut = f"line {self.lines} is incomplete"
            elif line.strip():
                self.pass_over(self.lines, "not part of a structured trace record")
            return None
        try:
            metadata = json_of(line[found.end() :].decode("utf-8", "replace"))
        except ValueError as error:
            if is_last:
                self.cut = f"line {self.lines} is incomplete"
            else:
                self.pass_over(
                    self.lines, f"the text after the prefix is not JSON: {_words(error)}"
                )
            return None
        if not isinstance(metadata, dict):
            self.pass_over(self.lines, "the JSON after the prefix is not an object")
            return None
        if is_last and _HASH in metadata:
            self.cut = f"the payload of line {self.lines} is missing"
            return None
        return _Open(self.lines, int(found["thread"]), metadata, wanted(metadata))

    def pass_over(self, line: int, reason: str) -> None:
        """Skip a line, if that is allowed.

        Raises:
            NotALog: it is not allowed.
        """
        if not self._lenient:
            raise self._error(line, reason)
        self.passed += 1

    def _error(self, line: int, reason: str) -> NotALog:
        return NotALog(str(self.path), line, reason)

    def _read_lines(self) -> Generator[bytes, None, None]:
        read = 0
        try:
            with open(self.path, "rb") as raw:
                packed = raw.peek(2)[:2] == b"\x1f\x8b"
                stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
                while True:
                    line = stream.readline(LONGEST_LINE + 1)
                    if not line:
                        return
                    self.lines += 1
                    read += len(line)
                    if len(line) > LONGEST_LINE:
                        raise self._error(self.lines, f"longer than {LONGEST_LINE} bytes")
                    if read > LARGEST_LOG:
                        raise self._error(self.lines, f"the log is larger than {LARGEST_LOG} bytes")
                    yield line
        except EOFError:
            self.cut = f"the compressed data ends after line {self.lines}"
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self._error(self.lines, f"not gzip data: {_words(error)}") from None
        except OSError as error:
            raise self._error(0, _words(error.strerror or error)) from None


class _Open:
    """A record whose payload is being read."""

    def __init__(self, line: int, thread: int, metadata: dict[str, Any], wanted: bool) -> None:
        self.line = line
        self.is_wanted = wanted
        self._thread = thread
        self._metadata = metadata
        self._lines: list[bytes] = []
        self._size = 0
        digest = metadata.get(_HASH)
        self._digest = digest if isinstance(digest, str) else None
        self._sum: Any = None
        self._ends = True

    def add(self, line: bytes, log: Log) -> None:
        """Add a line of the payload."""
        self._size += len(line)
        if self._size > LARGEST_PAYLOAD:
            raise log._error(self.line, f"its payload is larger than {LARGEST_PAYLOAD} bytes")
        self._ends = line.endswith(b"\n")
        text = line[1:-1] if self._ends else line[1:]
        if self.is_wanted:
            self._lines.append(text)
        if self._digest is not None:
            if self._sum is None:
                self._sum = _checksum(text)
            else:
                self._sum.update(b"\n" + text)

    def is_whole(self) -> bool:
        """Return true if the payload is complete, according to its checksum."""
        if self._digest is None:
            return self._ends
        return self._sum is not None and self._sum.hexdigest() == self._digest

    def entry(self) -> Entry:
        payload = None
        if self._digest is not None or self._lines:
            payload = b"\n".join(self._lines).decode("utf-8", "replace")
        return Entry(self.line, self._thread, self._metadata, payload)


def json_of(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON, is nested too deeply, or has a number that is too long.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _checksum(data: bytes) -> Any:
    if sys.version_info >= (3, 9):  # some systems only allow MD5 for other purposes than security
        return hashlib.md5(data, usedforsecurity=False)
    return hashlib.md5(data)


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _words(error: object) -> str:
    return " ".join(str(error).split())[:200]
