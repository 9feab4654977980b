# SPDX-License-Identifier: Apache-2.0
"""Conversion of one log to one capture, with the events and files of a live capture.

Trace records are handled like in a live capture (:func:`~..capture.records.on_record`); queries to
the process are answered from the log, or remain unanswered.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Mapping

from pellucid.dump.model.events import (
    Break,
    CacheEntry,
    CompileKey,
    Frame,
    Log,
    Place,
    Problem,
    Source,
    Started,
)
from pellucid.dump.model.names import identifier, is_resumed
from pellucid.dump.model.stages import program_direction
from pellucid.dump.model.traced import LOG, fate_of
from pellucid.dump.store.session import Session

from ..capture.records import on_record
from ..capture.sources import add_sources
from ..capture.summary import write_record
from ..taps.trace import OURS, TraceRecord, is_wanted, parse_trace
from . import reader, settings
from .answers import Answers
from .frames import Frames, line_of_listing
from .guards import entry_of_text

_GUARDS = "dynamo_cpp_guards_str"
_ERROR = "artifact:dynamo_error"
_METRICS = ("compilation_metrics", "bwd_compilation_metrics")
_STRING = "str"
_VERSION = "torch_version"
_LISTING, _BEFORE = "_MODIFIED_BYTECODE", "_ORIGINAL_BYTECODE"
_TRANSFORMED = f"{OURS}transformed_code_"
_IDS = ("frame_id", "frame_compile_id", "compiled_autograd_id", "attempt", "rank")
_LARGEST_ID = 10**9
_MOST_PROBLEMS = 20
_LONGEST_NAME = 150

LACKS = (
    "Dynamo's bytecode: transformed code is not decompiled, and nothing runs from its file",
    "frames that torch skipped, stances, and hooks that were registered after the compile",
    "the modules that the nodes of a graph belong to",
    "which settings are at their default",
)
"""The parts of a capture that a log lacks."""


@dataclass
class Head:
    """The information about the process at the beginning of a log."""

    rank: int | None = None
    size: int | None = None
    began: float = 0.0
    """In seconds since the epoch; 0 if the log has no time."""
    settings: dict[str, Any] = field(default_factory=dict)


class Conversion:
    """Reads one log into a session."""

    def __init__(self, session: Session, log: reader.Log, answers: Answers) -> None:
        self._session = session
        self._log = log
        self._answers = answers
        self._frames = Frames(session)
        self._entries: dict[CompileKey, CacheEntry] = {}
        self._transformed: dict[CompileKey, tuple[str, str]] = {}
        self._listings: dict[CompileKey, str] = {}
        self._errors: dict[CompileKey, str] = {}
        self._goes_on: dict[CompileKey, int | None] = {}
        self._waiting: dict[tuple[CompileKey, str], list[TraceRecord]] = {}
        self._ended: set[CompileKey] = set()

    def read(self) -> None:
        """Handle every record of the log.

        Raises:
            NotALog: a line does not belong to a record.
        """
        for entry in self._log.entries(_is_wanted):
            reason = _wrong_id(entry.metadata)
            if reason:
                self._log.pass_over(entry.line, reason)
                continue
            few = len(self._session.of(Problem)) < _MOST_PROBLEMS
            where = f"reading the record of line {entry.line}"
            with self._session.guard(where) if few else contextlib.suppress(Exception):
                self._take(entry)
        with self._session.guard("reading the graphs before the end"):
            self._flush(None)
        self._end()

    def _take(self, entry: reader.Entry) -> None:
        metadata, answers = entry.metadata, self._answers
        answers.number_of_thread = entry.thread
        if _STRING in metadata:
            answers.add_string(metadata[_STRING])
            return
        answers.add_lines(metadata, entry.payload)
        record = parse_trace(metadata, entry.payload)
        if record is None:
            return
        name = record.kind.partition(":")[2]
        key = self._session.key(record.compile_id)
        if name == _VERSION:
            self._version(record.payload)
        elif name.startswith(_TRANSFORMED):
            self._transformed[key] = (name, record.payload or "")
        elif name.endswith(_LISTING):
            self._listings[key] = record.payload or ""
        elif name.endswith(_BEFORE):
            self._goes_on[key] = line_of_listing(record.payload or "")
        elif record.kind == _ERROR:
            self._errors[key] = record.payload or ""
        elif record.kind == _GUARDS:
            self._entries[key] = entry_of_text(key, record.payload or "")
        else:
            self._event(key, record)

    def _event(self, key: CompileKey, record: TraceRecord) -> None:
        part = (key, record.subgraph)
        if "post_grad" in record.kind:
            self._waiting.setdefault(part, []).append(record)
            return
        if record.kind == "inductor_output_code":
            self._send(part, program_direction(record.payload or ""))
        elif record.kind in _METRICS:
            self._flush(key)
            data = record.data if isinstance(record.data, dict) else {}
            self._session.versions.update(settings.versions_of(data))
            self._answers.has_broken = any(stop.key == key for stop in self._session.of(Break))
            self._answers.error = self._errors.pop(key, "")
            if record.kind == _METRICS[0]:
                self._ended.add(key)
                # torch also reports this for a frame that it skipped; that one has no guards.
                if data.get("has_guarded_code") and (key in self._entries or not self._entries):
                    self._frame(key, data)
        on_record(self._session, record, False, self._answers)

    def _send(self, part: tuple[CompileKey, str], direction: str) -> None:
        """Handle the graphs that waited for their pass to be known."""
        for record in self._waiting.pop(part, ()):
            self._answers.pass_of_graph = direction or _pass_of(record.payload or "")
            on_record(self._session, record, False, self._answers)

    def _flush(self, key: CompileKey | None) -> None:
        for part in [part for part in self._waiting if key in (None, part[0])]:
            self._send(part, "")

    def _frame(self, key: CompileKey, data: Mapping[str, Any]) -> None:
        if any(frame.key == key for frame in self._session.of(Frame)):
            return
        started = [event.place for event in self._session.of(Started) if event.key == key]
        place = next((place for place in started if place is not None), None)
        if isinstance(data.get("co_filename"), str):
            line, name = data.get("co_firstlineno"), data.get("co_name")
            place = Place(data["co_filename"], line if isinstance(line, int) else 0, str(name))
        if place is None:
            return
        line = self._goes_on.get(key) if is_resumed(place.function) else None
        place = Place(place.file, line or place.line, place.function[:_LONGEST_NAME])
        name, text = self._transformed.get(key, ("", None))
        shown = name.partition(f"{key.slug}_for_")[2]
        if place.function == "inner" and shown and identifier(shown) == shown:
            place = Place(place.file, place.line, shown[:_LONGEST_NAME])
        self._frames.add(key, place, text, self._listings.get(key))

    def _version(self, payload: str | None) -> None:
        with contextlib.suppress(ValueError):
            told = reader.json_of(payload or "")
            for ours, theirs in (("torch", "pytorch_version"), ("torch git_version", "commit")):
                if isinstance(told, dict) and isinstance(told.get(theirs), str):
                    self._session.versions[ours] = told[theirs][:80]

    def _end(self) -> None:
        session = self._session
        for key in self._entries:  # compiled, but the log ends before torch reports it
            if key not in self._ended:
                self._frame(key, {})
        made = {frame.key for frame in session.of(Frame)}
        open_ones = [
            event.key
            for event in session.of(Started)
            if event.key not in self._ended and event.key not in made
        ]
        session.unfinished = set(open_ones)
        lacks = LACKS[1:] if self._transformed else LACKS
        session.record(
            Log(
                name=self._log.path.name,
                lines=self._log.lines,
                lacks=lacks,
                cut=self._log.cut,
                passed=self._log.passed,
                unfinished=tuple(open_ones),
            )
        )

    def write(self) -> None:
        """Write the files that need the complete log."""
        session, answers = self._session, self._answers
        full = self._frames.write_full_code(self._entries)
        with session.guard("keeping the user's files"):
            answers.collect_sources(session)
            add_sources(session, answers.folder_of_torch(), answers.keep_source)
            for file in answers.shown(session):
                for first, text in answers.parts_of(file):
                    session.record(Source(file, text, "", first))
        for file in answers.unlike:
            session.problem(f"reading {file}", "the file that was found has different lines")
        write_record(session, full)
        session.close()


def head_of(log: reader.Log) -> Head:
    """Read the beginning of a log, as far as needed to identify its process.

    Raises:
        NotALog: a line does not belong to a record.
    """
    found = Head()
    wanted = log.entries(lambda metadata: _METRICS[0] in metadata or _TIME in metadata)
    for number, entry in enumerate(wanted):
        _look(found, entry)
        is_known = bool(found.settings) and found.rank is not None
        if is_known or number > (_FAR if found.settings else _FARTHEST):
            break
    return found


_TIME = "chromium_event"
_FAR, _FARTHEST = 2_000, 20_000
"""The number of records to search for the rank, and for the settings."""


def _look(found: Head, entry: reader.Entry) -> None:
    rank, size = entry.metadata.get("rank"), entry.metadata.get("process_group_size")
    if isinstance(rank, int) and not _wrong_id(entry.metadata):
        found.rank = rank
    if isinstance(size, int) and 0 < size < _LARGEST_ID:
        found.size = size
    if not found.began and _TIME in entry.metadata:
        with contextlib.suppress(ValueError):
            event = reader.json_of(entry.payload or "")
            began = event.get("ts") if isinstance(event, dict) else None
            found.began = began / 1e6 if isinstance(began, (int, float)) else 0.0
    metrics = entry.metadata.get(_METRICS[0])
    if not found.settings and isinstance(metrics, dict):
        found.settings = settings.settings_of(metrics)


def _is_wanted(metadata: Mapping[str, Any]) -> bool:
    artifact = metadata.get("artifact")
    if isinstance(artifact, dict):
        name = str(artifact.get("name"))
        fate = fate_of(f"artifact:{name}")
        if name.startswith(_TRANSFORMED) or (fate is not None and fate.of == LOG):
            return True
    return _STRING in metadata or is_wanted(metadata)


def _wrong_id(metadata: Mapping[str, Any]) -> str:
    """Return what is wrong with the numbers that name files; empty if nothing is."""
    for name in _IDS:
        value = metadata.get(name)
        if value is not None and not (type(value) is int and 0 <= value < _LARGEST_ID):
            return f"its {name} is not a number of that kind"
    return ""


def _pass_of(text: str) -> str:
    """Return the pass of an Inductor graph, judged from its inputs.

    >>> _pass_of('def forward(self, primals_1: "f32[2]", tangents_1: "f32[2]"):')
    'backward'
    """
    if "tangents_" in text:
        return "backward"
    return "forward" if "primals_" in text else "inference"


__all__ = ["LACKS", "Conversion", "Head", "head_of"]
