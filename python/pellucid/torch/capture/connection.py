# SPDX-License-Identifier: Apache-2.0
"""From hook calls to events, and from events to files, while the program runs.

The process has one capture object: it installs torch's hooks when the first session opens and
removes them when the last one closes.  Sessions nest: each gets every event, and the files of the
innermost one are the ones that run.  Compiles happen under torch's own lock, but events also arrive
from other threads.  If there is no other listener on torch's trace, events arrive while torch
checks for handlers, without a lock; with ``TORCH_TRACE`` they arrive one by one under our handler's
lock.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import multiprocessing.util
import os
import threading
import weakref
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, Callable, Iterator

from pellucid.dump.model.breaks import break_of
from pellucid.dump.model.events import (
    Break,
    CompileKey,
    FailedGuard,
    Frame,
    Graph,
    Place,
    Recompile,
    Started,
)
from pellucid.dump.model.ids import is_compile_id, is_recompile, version_of
from pellucid.dump.model.stages import sent_twice, stage_named
from pellucid.dump.store.directories import child_number
from pellucid.dump.store.session import Session

from ..taps import doors, graph_hooks, guard_state, hooks
from ..taps.interpreted import generate_interpreted_graphs
from ..taps.outcomes import add_reset
from ..taps.printed import PRINTED
from ..taps.shapes import SHAPES
from ..taps.trace import TraceRecord
from ..text.dump import named_class
from . import graph_files
from .frames import add_compiled_before, add_made_before, write_frame
from .frames import place_of as start_of
from .outcomes import Early, Outcomes, follow
from .progress import WANTED, Progress
from .records import on_record, place_of, write_graph, write_program
from .sources import keep_file
from .summary import add_entry, refresh_caches, write_summary

Opener = Callable[[], Session]


class Capture:
    """The process's connection to torch, shared by all open sessions."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: list[Session] = []
        self._remove: list[hooks.Remove] = []
        self._is_connected = False
        self._busy = threading.local()
        self._breaks = hooks.BreakReasons([])
        self._unloaded: list[tuple[Session, Graph, str]] = []
        self._waiting: list[Opener] = []
        self._before_fork: list[Session] = []
        self._outcomes: dict[Session, Outcomes] = {}
        self._early = Early()
        self._forks: list[tuple[Session, Session]] = []
        self._progress: Progress | None = None
        self._watchers = 0
        self._remove_trace: hooks.Remove | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    @property
    def innermost(self) -> Session | None:
        """Return the open session that was opened last."""
        with self._lock:
            return self._sessions[-1] if self._sessions else None

    def automatic(self) -> list[Session]:
        """Return the open sessions of this process that the program did not open itself."""
        with self._lock:
            return [session for session in self._sessions if session.is_automatic]

    @property
    def asked_for(self) -> Session | None:
        """Return the innermost open session that the program opened itself."""
        with self._lock:
            asked = [session for session in self._sessions if not session.is_automatic]
            return asked[-1] if asked else None

    def open(self, session: Session) -> None:
        """Start recording into a session."""
        with self._lock:
            self._sessions.append(session)
            self._outcomes[session] = Outcomes(session)
            self._connect()

    @property
    def waits(self) -> bool:
        """Return true if a session waits for the first compile to open."""
        with self._lock:
            return bool(self._waiting)

    def open_later(self, opener: Opener) -> None:
        """Start recording into the session that ``opener`` creates at the first compile."""
        with self._lock:
            self._waiting.append(opener)
            self._connect()

    def show_progress(self) -> hooks.Remove:
        """Show a progress line until the returned function is called."""
        with self._lock:
            self._watchers += 1
            if self._progress is None:
                self._progress = Progress()
            self._follow_trace()

        def remove() -> None:
            with self._lock:
                self._watchers -= 1
                progress = None if self._watchers else self._progress
                if progress is not None:
                    self._progress = None
                    self._disconnect()
            if progress is not None:
                progress.close()

        return remove

    def _only_progress(self) -> frozenset[str] | None:
        """Return the trace events that are needed if no capture is open or waiting."""
        return None if self._is_connected else WANTED

    def _follow_trace(self) -> None:
        if self._remove_trace is None:
            self._remove_trace = hooks.no_op  # set first, for the same reason as below
            self._remove_trace = hooks.add_trace_handler(self._on_trace, self._only_progress)

    def _disconnect(self) -> None:
        """Remove the hooks that are no longer needed."""
        removes: list[hooks.Remove] = []
        if not self._sessions and not self._waiting:
            PRINTED.forget()
            removes, self._remove, self._is_connected = self._remove, [], False
            if self._progress is None and self._remove_trace is not None:
                removes.append(self._remove_trace)
                self._remove_trace = None
        for remove in removes:
            with contextlib.suppress(Exception):
                remove()

    def _connect(self) -> None:
        if self._is_connected:
            return
        self._is_connected = True  # set first: the code below may import torch, which may call this
        SHAPES.forget()
        self._breaks = hooks.break_reasons()
        self._follow_trace()
        self._remove = [
            hooks.add_bytecode_hook(self._on_bytecode),
            doors.add_doors(self._on_arrival, self._on_program),
            add_reset(self._on_reset),
            graph_hooks.add_formatted_graphs(self._on_formatted),
            generate_interpreted_graphs(graph_hooks.is_followed),
            # Not `open_sessions`: a frame that torch skips opens no capture.
            follow(lambda: [*self._outcomes.values()] or [self._early]),
        ]

    def close(self, session: Session) -> bool:
        """Stop recording into a session; the last one removes the hooks.

        Returns False if the session is not open.
        """
        with self._lock:
            if session not in self._sessions:
                return False
        with session.guard("running graphs from their files"):
            session.settle()
        self.run_programs()
        with self._lock:
            self._unloaded = [entry for entry in self._unloaded if entry[0] is not session]
            self._sessions = [other for other in self._sessions if other is not session]
            with session.guard("removing a hook"):
                self._disconnect()
            outcomes = self._outcomes.pop(session, None)
        if outcomes is not None:
            with session.guard("reading what was not compiled"):
                outcomes.finish()
        return True

    def _forked(self) -> None:
        # Another thread may have held the lock, and the child would wait for it forever.
        self._lock = threading.RLock()
        self._busy = threading.local()
        self._unloaded = []
        self._before_fork, self._sessions = self._sessions, []
        self._forks = []
        self._outcomes = {}
        self._early = Early()
        if self._progress is not None:
            self._progress.forked()
        hooks.note_fork()

    def open_sessions(self) -> tuple[Session, ...]:
        """Return the open captures of this process; waiting ones are opened now."""
        with self._lock:
            openers, self._waiting = self._waiting, []
            parents, self._before_fork = self._before_fork, []
            opened: list[Session] = []
            # A process that cannot get a directory has no capture.
            for opener in openers:
                with contextlib.suppress(Exception):
                    opened.append(opener())
            for parent in parents:
                with contextlib.suppress(Exception):
                    child = parent.fork()
                    opened.append(child)
                    self._forks.append((parent, child))
            for session in opened:
                self._outcomes[session] = Outcomes(session, self._early)
                at_exit(lambda session=session: finish(session), session)  # type: ignore[misc]
            # They enclose the sessions that the program has opened meanwhile.
            self._sessions[:0] = opened
            return tuple(self._sessions)

    def own(self, session: Session) -> Session | None:
        """Return this process's own capture if its parent had ``session`` open."""
        if session.here:
            return session
        with self._lock:
            self._before_fork = [other for other in self._before_fork if other is not session]
            return next((child for parent, child in self._forks if parent is session), None)

    def run_programs(self) -> None:
        """Swap in the Inductor programs that torch has loaded since it reported them."""
        with self._lock:
            waiting, self._unloaded = self._unloaded, []
        for session, event, path in waiting:
            loaded = True
            with session.guard(f"running {event.file}"):
                loaded = graph_files.run_program(session, event, path)
            if not loaded:
                with self._lock:
                    self._unloaded.append((session, event, path))

    # -- what torch calls --

    def _on_bytecode(self, original: CodeType, transformed: CodeType) -> CodeType | None:
        sessions = self.open_sessions()
        if not sessions:
            return None
        replacement: CodeType | None = None
        inner = sessions[-1]
        with inner.guard(f"rewriting {original.co_name}"):
            compile_id = doors.compile_id()
            self._add_breaks(compile_id)
            for session in sessions:
                with session.guard(f"dumping {original.co_name}"):
                    code = write_frame(session, compile_id, original, transformed, session is inner)
                    replacement = code if session is inner else replacement
                with session.guard(f"running the graphs of {original.co_name}"):
                    session.settle(session.key(compile_id))
                with session.guard(f"looking at the modules of {original.co_name}"):
                    self._outcomes[session].compiled()
        return replacement

    def _on_arrival(self, arrival: doors.Arrival) -> CodeType | None:
        """Handle code that bypassed the bytecode hook as if it had gone through it."""
        sessions = self.open_sessions()
        replacement: CodeType | None = None
        original = arrival.original
        for session in sessions:
            is_inner = session is sessions[-1]
            with session.guard(f"dumping {original.co_name}"):
                known = _of_variant(session, arrival.compile_id)
                key, place = session.key(known), start_of(original)
                if not session.of(Started, key):
                    session.record(Started(key, place))
                    keep_file(session, place.file)
                code = write_frame(
                    session, known, original, arrival.code, is_inner, arrival.state, arrival.way
                )
                replacement = code if is_inner else replacement
                ran = arrival.code if code is None else code
                if arrival.way != doors.EXPORT:
                    add_entry(session, original, hooks.RawEntry(known, ran, arrival.guard_manager))
                session.settle(key)
                if arrival.way in (doors.AHEAD, doors.LOADED):
                    failed = functools.partial(self._on_failed_guard, weakref.ref(session), key)
                    doors.on_failure(arrival.guard_manager, failed)
        return replacement

    def _on_program(self, text: str, functions: list[FunctionType], compile_id: str | None) -> None:
        """Handle a program that ``torch.compiler.precompile`` has just executed."""
        for session in (sessions := self.open_sessions()):
            with session.guard("dumping a precompiled program"):
                is_inner = session is sessions[-1]
                key = session.key(compile_id)
                program = write_program(session, key, "precompiled", text, is_inner)
                if is_inner:
                    graph_files.run_functions(session, program, functions)

    def _on_failed_guard(
        self, capture: weakref.ref[Session], key: CompileKey, text: str, place: Place | None
    ) -> None:
        session = capture()
        with self._lock:
            is_open = session in self._sessions
        if session is not None and is_open:
            session.record(FailedGuard(key, text, place))

    def _in_scope(self, record: TraceRecord) -> TraceRecord:
        """Return an event with the id of its thread's work if torch gave it none."""
        work = doors.scope()
        if work is None:
            return record
        before, known = work.known, work.compile_id(record.compile_id)
        begins = work.way != doors.PACKAGE and record.kind != "dynamo_start"
        if before is None and known is not None and begins:
            for session in self.open_sessions():
                session.start(known)  # torch does not report that it begins
        return replace(record, compile_id=known)

    def _on_trace(self, record: TraceRecord) -> None:
        if getattr(self._busy, "now", False):
            return  # ignore the log output that our own work causes
        self._busy.now = True
        try:
            record = self._in_scope(record)
            progress = self._progress
            if progress is not None:
                with contextlib.suppress(Exception):
                    progress.take(record, place_of)
            self.run_programs()
            sessions = self.open_sessions()
            if record.kind == "dynamo_start":
                with self._lock:
                    self._breaks.skip()  # of a compile whose end no capture saw
            if record.kind.endswith("compilation_metrics"):
                PRINTED.forget()
            if record.kind == "compilation_metrics" and sessions:
                with sessions[-1].guard("reading torch's graph breaks"):
                    self._add_breaks(record.compile_id)  # skipped frames have no bytecode
            for session in sessions if record.kind == "dynamo_start" else ():
                with session.guard("looking for hooks that came late"):
                    self._outcomes[session].look()
            for session in sessions:
                with session.guard(f"reading torch's trace event {record.kind}"):
                    program = on_record(session, record, session is sessions[-1])
                    if program is not None:
                        with self._lock:
                            self._unloaded.append((session, *program))
        finally:
            self._busy.now = False

    def _on_reset(self) -> None:
        """Read the guards that torch is about to drop."""
        with self._lock:
            sessions = tuple(self._sessions)
        for session in sessions:
            read_caches(session, forgotten=True)

    def _add_breaks(self, compile_id: str | None) -> None:
        """Record the graph breaks of a compile that torch's trace does not report."""
        with self._lock:
            texts = self._breaks.take()
        for session in self.open_sessions() if texts else ():
            key = session.key(compile_id)
            # If the trace reports them, it has done so by now.
            if not session.of(Break, key):
                for text in texts:
                    session.record(break_of(key, text))

    def _on_formatted(self, name: str, graph: Any) -> None:
        """Handle a graph that is formatted for torch's log, by torch or by other code."""
        if not sent_twice(name):
            self.add_graph(stage_named(name), graph, is_of_compile=True)

    def add_graph(
        self,
        stage: str,
        graph: Any,
        metadata: dict[str, Any] | None = None,
        is_of_compile: bool = False,
    ) -> str | None:
        """Write a graph into every open session; return its file name in the innermost one.

        torch often prints a graph of the current compile once more unchanged.
        """
        sessions = self.open_sessions()
        if not sessions or getattr(self._busy, "now", False):
            return None
        self._busy.now = True
        file = None
        try:
            with sessions[-1].guard(f"formatting the graph {stage}"):
                printed, compile_id = graph_hooks.readable(graph), doors.compile_id()
                text = named_class(printed)
                if is_of_compile and compile_id is not None:
                    PRINTED.keep(graph, printed)
                for session in sessions:
                    key = session.key(compile_id)
                    event = write_graph(session, key, stage, graph, text, False, metadata=metadata)
                    file = event.file
        finally:
            self._busy.now = False
        return file


def _of_variant(session: Session, compile_id: str | None) -> str | None:
    """Return the id of one more version: all versions of a function in a package share one id."""
    while session.of(Frame, session.key(compile_id)):
        if compile_id is None or not is_compile_id(compile_id):
            break
        compile_id = version_of(compile_id, 1)
    return compile_id


CAPTURE = Capture()


# -- the end of a capture --------------------------------------------------------------------------


@contextlib.contextmanager
def collector_at_rest() -> Iterator[None]:
    """Disable garbage collection while we allocate, since it would scan the whole program.

    The program's own garbage is collected when it would be without us.  If the collector is already
    off, perhaps by another of our threads, it stays off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def at_exit(action: Callable[[], None], session: Session) -> None:
    """Run an action when this process ends, even in a child of ``multiprocessing``."""
    if not session.is_automatic:
        atexit.register(action)
    else:  # it ends last, when torch may have dropped its caches
        atexit.register(lambda: read_caches(session))
    if child_number():  # such a process does not run atexit handlers
        multiprocessing.util.Finalize(None, action, exitpriority=10)


def read_caches(session: Session, forgotten: bool = False) -> None:
    """Read torch's current cache entries; entries read before stay if there are none now.

    With ``forgotten``, they always stay.
    """
    if session.here:
        with collector_at_rest(), session.guard("reading torch's caches"):
            refresh_caches(session, forgotten)


def finish(session: Session) -> None:
    """Close a capture and write what is only known at its end; a second call does nothing."""
    if not CAPTURE.close(session):
        return
    with collector_at_rest():
        with session.guard("closing the capture"):
            refresh_caches(session)
            add_compiled_before(session)
            add_made_before(session)
        for row in (*hooks.missing(), *guard_state.missing()):
            if row.of_captures:
                session.problem("this torch", f"no {row.name}: {row.lost}")
        _add_what_is_not_traced(session)
        write_summary(session)
        session.close()


def _add_what_is_not_traced(session: Session) -> None:
    """Report recompiles that old torch releases do not trace, as far as frames show them."""
    frames = [f for f in session.of(Frame) if not f.before]
    again = [f.key for f in frames if is_recompile(f.key.id)]
    said = "its trace gives no reason"
    # If torch traces recompiles, such a frame was recompiled for another reason, like a new
    # backend.
    if again and not session.of(Recompile) and not hooks.traces_recompiles():
        session.problem("this torch", f"recompiled frames: {len(again)}; {said}")
        for key in again:
            session.record(Recompile(key, (f"this torch: {said}",)))
