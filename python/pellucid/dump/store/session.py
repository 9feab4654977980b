# SPDX-License-Identifier: Apache-2.0
"""One capture on disk: the events so far, the written files, and the record of both.

Several threads send events to a session; every public method is thread-safe.  Files are written
atomically.  Our own errors become :class:`Problem` events, are shown in ``index.md``, and are
reported once when the capture ends; they never reach the program.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, TypeVar

from pellucid.shown import Shown

from ..model.capture import FINDINGS, PAGE, TRIALS, Capture, what_is_in
from ..model.events import (
    CompileKey,
    Frame,
    Graph,
    GraphRun,
    Problem,
    Skipped,
    Span,
    Started,
    Times,
)
from ..model.guard_places import user_files, with_places, with_whole_paths
from ..model.names import scrub
from ..model.nodes import Node
from .directories import (
    PREFIX,
    Claim,
    Mark,
    child_number,
    claim_for_fork,
    remove_litter,
    this_command,
    this_program,
    write_atomic,
)
from .functions import Functions
from .record import RECORD, SCHEMA
from .resumes import Resumes

INDEX = "index.md"
_LIST = f"{PREFIX}files"
_FIRST_RECORDS = 16
_LONGEST_NAME = 200

E = TypeVar("E")
Listener = Callable[[Any], None]


class Session(Shown):
    """The store of one capture.

    Args:
        directory: the directory of the files; created if it does not exist.
        listener: called with each event as it is recorded, for instance to show progress.
        show_bytecode: whether to disassemble transformed code in its file even if it is proven.
        claim: reserves the directory for this capture; released by :meth:`close`.
        mark: the run that the capture belongs to, if its directory was chosen automatically
            (``PELLUCID_DUMP``).
    """

    def __init__(
        self,
        directory: Path,
        listener: Listener | None = None,
        show_bytecode: bool = False,
        claim: Claim | None = None,
        mark: Mark | None = None,
    ) -> None:
        self.directory = Path(os.path.abspath(str(directory)))
        self.directory.mkdir(parents=True, exist_ok=True)
        self._claim = claim
        self.show_bytecode = show_bytecode
        self._listener = listener
        self._lock = threading.RLock()
        self._writing = threading.RLock()
        self._events: list[Any] = []
        self._by_kind: dict[type, list[Any]] = {}
        self._by_key: dict[tuple[type, CompileKey | int], list[Any]] = {}
        self.user_files: set[str] = set()
        """The user's files that events name."""
        self._files: dict[str, object] = {}
        self._listed: set[str] = set()
        self._once: set[Any] = set()
        self.functions = Functions()
        self.span_reader: Any = None
        self.sources: dict[str, bytes] = {}
        """The user's files as they were when first seen; empty if unreadable."""
        self.nodes: dict[str, tuple[Node, ...]] = {}
        """The nodes of each graph file, with the lines of the current file."""
        self.last_nodes: tuple[tuple[int, str], tuple[Node, ...], str] | None = None
        """The text of the most recent graph, its nodes and its hash."""
        self.buffers: dict[str, Any] = {}
        """The contents of each program's buffers, from `taps.inductor`."""
        self.input_sources: dict[CompileKey, tuple[str, ...]] = {}
        """The sources of each captured graph's inputs, in torch's words."""
        self.wrappers: dict[CompileKey, list[tuple[int, str, str]]] = {}
        """The functions that AOTAutograd generates for a compile: attempt, name, text."""
        self.resumes = Resumes()
        self.ways: dict[CompileKey, Any] = {}
        """How torch reached the guards of each compile, from `taps.guard_ways`."""
        self.counts_calls = False
        """Whether code that runs from its files counts its calls."""
        self._calls: dict[CompileKey, itertools.count[int]] = {}
        self.versions: dict[str, str] = {}
        self.configuration: dict[str, str] = {}
        self._process = os.getpid()
        self._epoch = 0
        self._started: dict[tuple[int, str | None], bool] = {}
        self._settled: set[CompileKey] = set()
        self._postponed: dict[CompileKey, list[Callable[[], None]]] = {}
        self.opened = time.time()
        self.date = date_of(self.opened)
        self.is_automatic = mark is not None
        self.mark = mark or Mark(f"{os.getpid()}-{time.time_ns()}", this_program())
        self.may_end_unseen = self.is_automatic
        self._recording, self._recorded = 0.0, 0
        self.rank: int | None = None
        self.world_size: int | None = None
        self.process = child_number()
        self.command = this_command()
        self.folder = os.getcwd()
        self.started: tuple[str, ...] = ()
        self.started_in = ""
        self.warns_when_empty = True
        self.unfinished: set[CompileKey] = set()
        """The compiles that were unfinished when the imported log ended."""
        self.findings: tuple[Any, ...] = ()
        self._remove_previous()

    def fork(self) -> Session:
        """Open a capture beside this one, in a process that was forked while this one was open."""
        if self._claim is not None:
            self._claim.abandon()
        claim = claim_for_fork(self.directory, self.mark)
        session = Session(claim.path, None, self.show_bytecode, claim, self.mark)
        session.is_automatic = self.is_automatic
        session.counts_calls = self.counts_calls
        session.started, session.started_in = self.started, self.started_in
        session.process = child_number() or claim.path.name
        # Such a process may exit without running any handlers.
        session.may_end_unseen = self.is_automatic or not child_number()
        return session

    @contextlib.contextmanager
    def recorded_early(self) -> Iterator[bool]:
        """Yield whether to write the record now, in case the process does not reach its end.

        After the first few times, this takes at most a twentieth of the total time.
        """
        started = time.monotonic()
        is_cheap = self._recording <= (time.time() - self.opened) / 20
        wanted = self.may_end_unseen and (self._recorded < _FIRST_RECORDS or is_cheap)
        yield wanted
        if wanted:
            self._recorded += 1
            self._recording += time.monotonic() - started

    def close(self) -> None:
        """Release the directory after the record is written."""
        with contextlib.suppress(OSError):
            self.path(_LIST).unlink()
        if not self.is_automatic:
            self.mark.remove_below(self.directory)  # no more processes will be forked inside
        if self._claim is not None:
            self._claim.release()

    def discard(self) -> None:
        """Remove the written files, and release the directory."""
        for name in self.files():
            with contextlib.suppress(OSError):
                self.path(name).unlink()
        self.close()
        with contextlib.suppress(OSError):
            self.directory.rmdir()

    @property
    def here(self) -> bool:
        """Return true if this process opened the session, rather than a parent of it."""
        return self._process == os.getpid()

    # -- events --

    def record(self, event: Any) -> None:
        """Store an event, and notify the listener."""
        with self._lock:
            self._keep(event)
        if self._listener is not None:
            with self.guard("progress listener"):
                self._listener(event)

    def __repr__(self) -> str:
        return f"<Session in {self.directory}: {what_is_in(self)}>"

    def record_once(self, event: Any) -> None:
        """Store an event, unless an equal one was stored by this method."""
        with self._lock:
            is_new = event not in self._once
            self._once.add(event)
        if is_new:
            self.record(event)

    def of(self, kind: type[E], key: CompileKey | int | None = None) -> list[E]:
        """Return the events of one kind, in order: all, or those of a compile.

        Frames can also be requested by the number of their function.
        """
        with self._lock:
            found = self._by_kind.get(kind) if key is None else self._by_key.get((kind, key))
            return list(found or ())

    def replace(self, changes: Iterable[tuple[Any, Any]]) -> None:
        """Replace events by more complete ones of the same kind and key."""
        with self._lock:
            new = {id(old): event for old, event in changes}
            for events in (self._events, *self._by_kind.values(), *self._by_key.values()):
                events[:] = [new.get(id(event), event) for event in events]

    def _keep(self, event: Any) -> None:
        self._events.append(event)
        kind, key = type(event), getattr(event, "key", None)
        self._by_kind.setdefault(kind, []).append(event)
        if isinstance(key, CompileKey):
            self._by_key.setdefault((kind, key), []).append(event)
        if kind is Frame:
            self._by_key.setdefault((kind, event.function), []).append(event)
        self.user_files |= user_files((event,))

    def key(self, compile_id: str | None) -> CompileKey:
        """Return the compile that an id currently refers to."""
        with self._lock:
            return CompileKey(compile_id, self._epoch)

    def start(self, compile_id: str | None) -> CompileKey:
        """Record that a compile begins; if its id has begun before, torch's counters were reset."""
        with self._lock:
            if (self._epoch, compile_id) in self._started:
                self._epoch += 1
            self._started[self._epoch, compile_id] = True
            return CompileKey(compile_id, self._epoch)

    def settled(self, key: CompileKey) -> bool:
        """Return true if Dynamo has finished a compile, so that code generated now may run."""
        with self._lock:
            return key in self._settled or (key.epoch, key.id) not in self._started

    def postpone(self, key: CompileKey, action: Callable[[], None]) -> None:
        """Run an action once a compile is settled."""
        with self._lock:
            self._postponed.setdefault(key, []).append(action)

    def settle(self, key: CompileKey | None = None) -> None:
        """Run the actions waiting for a compile's result; for None, those of all compiles."""
        with self._lock:
            keys = list(self._postponed) if key is None else [key]
            self._settled.update(keys)
            waiting = [action for k in keys for action in self._postponed.pop(k, [])]
        for action in waiting:
            action()

    def problem(self, where: str, what: str, detail: str = "") -> None:
        """Record an error on our side."""
        self.record(Problem(where, scrub(what), scrub(detail)))

    @contextlib.contextmanager
    def guard(self, where: str) -> Iterator[None]:
        """Keep pellucid's own exceptions from the program; they become problems."""
        try:
            yield
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            with self._lock:
                self._keep(Problem(where, scrub(what), scrub(traceback.format_exc())))

    def has_program(self, key: CompileKey) -> bool:
        """Return true if a compile's graphs have become a program, and so do not run themselves."""
        return any(graph.is_program for graph in self.of(Graph, key))

    def running_graphs(self) -> list[Graph]:
        """Return the graphs and programs that run as Python, from their files.

        A graph for which Inductor generated a program does not run itself.
        """
        runs = {run.file for run in self.of(GraphRun) if run.runs}
        unique = {graph.file: graph for graph in self.of(Graph)}
        replaced = {g.key for g in unique.values() if g.is_program}
        return [
            g for g in unique.values() if g.file in runs and (g.is_program or g.key not in replaced)
        ]

    # -- files --

    def claim(self, name: str, owner: object) -> str:
        """Reserve a file name for an owner; another owner gets the name with a number.

        The same owner always gets the same name, so later versions of a file replace earlier ones.
        """
        stem, dot, suffix = name.rpartition(".")
        stem = stem[:_LONGEST_NAME]  # file systems refuse longer names
        with self._lock:
            candidate, number = f"{stem}{dot}{suffix}", 1
            while candidate in self._files and self._files[candidate] != owner:
                number += 1
                candidate = f"{stem}_{number}{dot}{suffix}"
            self._files[candidate] = owner
            return candidate

    def path(self, name: str) -> Path:
        """Return the absolute path of one of this capture's files."""
        return self.directory / name

    def name_in_dump(self, file: str) -> str:
        """Return the name of one of this capture's files; any other path is returned unchanged."""
        folder, name = os.path.split(file)
        return name if folder == str(self.directory) else file

    def write(self, name: str, content: str | bytes) -> Path:
        """Write one of this capture's files atomically."""
        # events continue meanwhile; of two texts for one file, the later one wins
        with self._writing:
            with self._lock:
                self._files.setdefault(name, name)
                is_new = name not in self._listed
                self._listed.add(name)
            if is_new:
                # If the process is killed, the next capture finds here which files to remove.
                with open(self.path(_LIST), "a", encoding="utf-8", newline="\n") as stream:
                    stream.write(name + "\n")
            write_atomic(self.path(name), content)
            return self.path(name)

    def files(self) -> list[str]:
        """Return the names of the files written so far."""
        with self._lock:
            return sorted(name for name in self._files if self.path(name).exists())

    def others(self) -> list[str]:
        """Return the directories below this one with captures that ended since this one opened."""
        found = []
        for record in self.directory.glob(f"*/{RECORD}"):
            with contextlib.suppress(OSError):
                if record.stat().st_mtime >= self.opened:
                    found.append(record.parent.name)
        return sorted(found)

    def _remove_previous(self) -> None:
        """Remove the files of an earlier capture here, and only those: it has listed them."""
        names: list[Any] = []
        with contextlib.suppress(OSError, ValueError):
            names += self.path(_LIST).read_text(encoding="utf-8").splitlines()
        with contextlib.suppress(OSError, ValueError):
            previous = json.loads(self.path(RECORD).read_text(encoding="utf-8"))
            if isinstance(previous, dict) and previous.get("tool") == "pellucid":
                names += previous.get("files", [])
                names += filter(self._is_report, (PAGE, FINDINGS, TRIALS))
        for name in names:
            if isinstance(name, str) and name and os.path.basename(name) == name:
                with contextlib.suppress(OSError):
                    self.path(name).unlink()
        if self._claim is not None:
            remove_litter(self.directory)

    def _is_report(self, name: str) -> bool:
        """Return true if `pellucid.report` wrote a file for the capture that was here."""
        try:
            data = self.path(name).read_bytes()
        except OSError:
            return False
        return b'name="generator" content="pellucid ' in data[:2000] or (
            b'"tool": "pellucid"' in data[-2000:]
        )

    def counter(self, key: CompileKey) -> Callable[[], object]:
        """Return the function that a compile's code calls each time it begins."""
        return self._calls.setdefault(key, itertools.count()).__next__

    def without_counter(self, key: CompileKey) -> None:
        """Report no calls for a compile whose code cannot count them."""
        self._calls.pop(key, None)

    def calls(self) -> dict[CompileKey, int]:
        """Return how often the code of each compile has begun, for those that count."""
        return {key: int(repr(counter)[len("count(") : -1]) for key, counter in self._calls.items()}

    # -- the record --

    def snapshot(self) -> Capture:
        """Return the current state as the same data that loading the dump would give."""
        with self._lock:
            apart = (Times, Span)
            files = self.user_files
            events = (event for event in self._events if not isinstance(event, apart))
            return Capture(
                directory=self.directory,
                schema=SCHEMA,
                versions=dict(self.versions),
                configuration={name: scrub(v) for name, v in self.configuration.items()},
                events=with_whole_paths(events, files),
                caches=with_places(self.functions.caches(), files),
                files=tuple(sorted({*self.files(), RECORD})),
                times=tuple(self.of(Times)),
                spans=tuple(self.of(Span)),
                rank=self.rank,
                world_size=self.world_size,
                process=self.process,
                command=self.command,
                folder=self.folder,
                started=self.started,
                started_in=self.started_in,
                date=self.date,
                others=tuple(self.others()),
                made_nodes=dict(self.nodes),
            )


def date_of(seconds: float) -> str:
    """Return a time in seconds since the epoch as a capture records it.

    >>> date_of(0.0)
    '1970-01-01 00:00 UTC'
    """
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def left_alone(session: Session) -> list[Skipped]:
    """Return the frames that torch inspected but produced no code for."""
    done = {frame.key for frame in session.of(Frame)}
    told = {event.key: event for event in session.of(Skipped)}
    silent = [
        Skipped(started.key, started.place, "", "a frame without a graph is kept")
        for started in session.of(Started)
        if started.key not in told and started.key not in session.unfinished
    ]
    left = (event for event in (*silent, *told.values()) if event.key not in done)
    return [event for event in left if not event.raised]
