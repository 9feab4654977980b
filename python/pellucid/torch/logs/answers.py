# SPDX-License-Identifier: Apache-2.0
"""Answers from a log in place of the process that wrote it."""

from __future__ import annotations

import re
from pathlib import Path
from types import CodeType
from typing import Any, Iterable, Iterator, Mapping, Sequence

from pellucid.dump.model.events import Place, Source
from pellucid.dump.model.failures import is_own, limit_in
from pellucid.dump.store.session import Session

from ..capture.process import Process
from ..capture.sources import WHOLE, is_users
from ..taps.guard_ways import Ways
from ..taps.inductor import Origin
from ..taps.outcomes import Failure, is_raised, is_soft

_COMPILER = re.compile(r"[\\/]torch[\\/]_dynamo[\\/]convert_frame\.py$")
_IN_STACK = re.compile(
    r'^[ \t]*File "([^"\n]+)", line (\d+), in [^\n]*\n[ \t]+(\S[^\n]*)$', re.MULTILINE
)
_TRANSFORMED = "__transformed_code_"
_MOST_STRINGS = 1_000_000
_FAR = 40
"""Known lines that are farther apart than this are recorded as separate parts."""


class Answers(Process):
    """Answers from one log.

    Args:
        roots: folders to search for the program's files; no other files are read.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self._roots = [root.resolve() for root in roots]
        self._strings: dict[int, str] = {}
        self._lines: dict[str, dict[int, str]] = {}
        self.pass_of_graph = ""
        """The pass of the graph whose event is being handled."""
        self.number_of_thread = 0
        self.has_broken = False
        """Whether the compile whose metrics are being handled has reported a graph break."""
        self.error = ""
        """The error that ended it, with its traceback."""
        self.unlike: dict[str, None] = {}
        """The files that were found but differ from those that ran."""
        self._is_complete = False

    # -- data that torch's trace sends in separate records --

    def add_string(self, data: Any) -> None:
        """Store a string that the log refers to by number."""
        if not isinstance(data, list) or len(data) != 2 or len(self._strings) >= _MOST_STRINGS:
            return
        text, number = data
        if isinstance(text, str) and isinstance(number, int):
            self._strings[number] = text

    def add_lines(self, metadata: Any, payload: str | None) -> None:
        """Store user lines that a record contains."""
        for stack in _stacks(metadata):
            for call in stack:
                file = self.string(call.get("filename"))
                self._add_line(file, call.get("line"), call.get("loc"))
        for file, line, code in _lines_in_graph(payload or ""):
            self._add_line(file, line, code)
        for found in _IN_STACK.finditer(payload or ""):
            self._add_line(found[1], found[2], found[3])

    def _add_line(self, file: Any, line: Any, text: Any) -> None:
        if isinstance(file, str) and isinstance(text, str) and text.strip() and is_own(file):
            try:
                number = int(line)
            except (TypeError, ValueError):
                return
            if 0 < number < 1_000_000:
                self._lines.setdefault(file, {})[number] = text.strip()

    # -- queries to the process --

    def string(self, index: object) -> str | None:
        if isinstance(index, str):
            return index
        return self._strings.get(index) if isinstance(index, int) else None

    def code(self) -> CodeType | None:
        return None

    def graph(self, kind: str, payload: str) -> Any | None:
        return None

    def direction(self) -> str:
        return self.pass_of_graph

    def origins(self) -> Mapping[str, Origin]:
        return {}

    def operators(self, text: str) -> tuple[tuple[str, str], ...]:
        return ()

    def ways(self) -> Ways:
        return {}

    def failure(self, kind: str, values: Mapping[str, Any]) -> Failure:
        # torch reports a break if it skips a frame, and none if it raises instead.  Past the
        # recompile limit it reports none either, and raises a different error.
        strict = not self.has_broken and not limit_in(str(values.get("fail_reason")))
        suppressed = bool(values.get("config_suppress_errors"))
        name = kind.rpartition(".")[2]
        soft = is_soft({name})
        return Failure(is_raised({name}, soft and strict, suppressed), self.error, None)

    def handled(self) -> None:
        return None

    def thread(self) -> int:
        return self.number_of_thread

    def filtered(self) -> None:
        return None

    def schemas(self, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        return {}

    def callers(self) -> Iterator[Place]:
        return iter(())

    def is_users(self, file: str) -> bool:
        # Python's and libraries' files have different paths on the machine that wrote the log.
        return is_users(file) and (is_own(file) or _TRANSFORMED in file)

    def is_compilers(self, file: str) -> bool:
        return _COMPILER.search(file) is not None

    # -- the program's files --

    def keep_source(self, session: Session, file: str) -> None:
        if file not in session.sources:
            session.sources[file] = self._read(file) if self._is_complete else b""

    def collect_sources(self, session: Session) -> None:
        """Read the files named in the session from the folders that may be read."""
        self._is_complete = True  # all lines in the log are known
        for file, data in session.sources.items():
            if not data:
                session.sources[file] = self._read(file)

    def shown(self, session: Session) -> list[str]:
        """Return the files of which only the lines in the log are known."""
        whole = {source.file for source in session.of(Source)}
        return sorted(file for file in self._lines if file not in whole)

    def folder_of_torch(self) -> str:
        """Return torch's own folder in the process, with a trailing separator."""
        found = (_COMPILER.search(text) for text in self._strings.values())
        match = next((match for match in found if match is not None), None)
        return "/torch/" if match is None else f"{match.string[: match.start()]}/torch/"

    def _read(self, file: str) -> bytes:
        if not is_own(file):
            return b""
        for path in self._candidates(file):
            try:
                if not path.is_file() or path.stat().st_size > _LARGEST:
                    continue
                data = path.read_bytes()
            except OSError:
                continue
            if self._is_like(file, data):
                self.unlike.pop(file, None)
                return data
            self.unlike[file] = None
        return b""

    def _candidates(self, file: str) -> Iterator[Path]:
        """Yield the places below the roots where a file may be, by its path or the end of it."""
        parts = [part for part in re.split(r"[\\/]+", file) if part not in ("", ".")]
        if ".." in parts or not file.endswith(".py"):
            return
        for root in self._roots:
            for first in range(len(parts)):
                path = root.joinpath(*parts[first:])
                try:
                    inside = path.resolve()
                except (OSError, RuntimeError, ValueError):
                    continue
                if root in inside.parents:
                    yield inside

    def _is_like(self, file: str, data: bytes) -> bool:
        """Return true if a file contains the lines that the log shows."""
        text = data.decode("utf-8", "replace").split("\n")
        for number, line in self._lines.get(file, {}).items():
            if not (0 < number <= len(text)) or _one(line) not in _one(text[number - 1]):
                shown = _one(" ".join(text[max(number - 1, 0) : number + 9]))
                if _one(line) not in shown:
                    return False
        return True

    def parts_of(self, file: str) -> Iterator[tuple[int, str]]:
        """Yield the parts of a file that the log shows, each with its first line."""
        known = sorted(self._lines.get(file, {}).items())
        part: list[str] = []
        first = last = 0
        for number, line in known:
            if part and number > last + _FAR:
                yield first, "\n".join(part) + "\n"
                part = []
            if not part:
                first = number
            else:
                part += [""] * (number - last - 1)
            part.append(line)
            last = number
        if part:
            yield first, "\n".join(part) + "\n"


_LARGEST = 20 * WHOLE


def _stacks(metadata: Any) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the stacks in a record's metadata."""
    for data in metadata.values() if isinstance(metadata, dict) else ():
        for name in ("stack", "user_stack"):
            calls = data.get(name) if isinstance(data, dict) else None
            if isinstance(calls, list):
                yield [call for call in calls if isinstance(call, dict)]


def _lines_in_graph(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield file, line and code from the comments of a graph that quote user lines."""
    for line in text.split("\n"):
        comment, _, shown = line.partition("File: ")
        if shown and comment.lstrip().startswith("#"):
            where, _, code = shown.partition(", code: ")
            file, _, number = where.rpartition(" in ")[0].rpartition(":")
            yield file, number, code


def _one(text: str) -> str:
    return "".join(text.split())


__all__ = ["Answers"]
