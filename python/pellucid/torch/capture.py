"""Hook calls to events, and events to files while the program runs.

One capture of the process: torch's hooks are installed when the first session opens and removed
when the last one closes.  Sessions nest; each gets every event, and the innermost one's
files are the ones that run.  Compiles happen under torch's own lock, but events also come from
other threads.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import multiprocessing.util
import os
import threading
from dataclasses import replace
from types import CodeType
from typing import Any, Callable, Iterable

from . import facts, graph_files, guard_objects, guard_state, guards, hooks
from .directories import child_number
from .dump import (
    graph_name,
    graph_text,
    kernel_name,
    kernel_text,
    named_class,
    transformed_name,
    transformed_text,
)
from .events import (
    Break,
    CacheEntry,
    CompileKey,
    Frame,
    Graph,
    KernelFile,
    Place,
    Recompile,
    Started,
)
from .full_code import full_code_name, full_code_text
from .full_code_names import bindings
from .fx_meta import describe
from .graph_needs import needs_of_text
from .index import index_text
from .names import identifier
from .rewrite import Rewriting, rewrite
from .session import INDEX, RECORD, TIMES, Session
from .stages import kernels, program_stage, sent_twice, stage_named, stage_of
from .trace import OURS, UNREADABLE, TraceRecord
from .user_lines import annotate


class Capture:
    """The process's one connection to torch, shared by all open sessions."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: list[Session] = []
        self._remove: list[hooks.Remove] = []
        self._busy = threading.local()
        self._unloaded: list[tuple[Session, Graph, str]] = []
        self._before_fork: list[Session] = []
        self._forks: list[tuple[Session, Session]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    @property
    def innermost(self) -> Session | None:
        """The session that was opened last and is still open."""
        with self._lock:
            return self._sessions[-1] if self._sessions else None

    def open(self, session: Session) -> None:
        """Begin to record into a session."""
        with self._lock:
            self._sessions.append(session)
            if len(self._sessions) == 1:
                self._remove = [
                    hooks.add_bytecode_hook(self._on_bytecode),
                    hooks.add_trace_handler(self._on_trace),
                    hooks.add_formatted_graphs(self._on_formatted),
                ]

    def close(self, session: Session) -> bool:
        """Stop recording into a session; the last one removes the hooks.

        Returns False when the session is not open.
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
            if not self._sessions:
                for remove in self._remove:
                    with session.guard("removing a hook"):
                        remove()
                self._remove = []
        return True

    def _forked(self) -> None:
        # Another thread may have had the lock, which the child would wait for for ever.
        self._lock = threading.RLock()
        self._busy = threading.local()
        self._unloaded = []
        self._before_fork, self._sessions = self._sessions, []
        self._forks = []

    def _open_sessions(self) -> tuple[Session, ...]:
        """The open captures of this process; a forked child opens its own at its first event."""
        with self._lock:
            waiting, self._before_fork = self._before_fork, []
            for parent in waiting:
                # Without a directory of its own the child goes without a capture.
                with contextlib.suppress(Exception):
                    child = parent.fork()
                    self._sessions.append(child)
                    self._forks.append((parent, child))
                    at_exit(lambda session=child: finish(session))  # type: ignore[misc]
            return tuple(self._sessions)

    def own(self, session: Session) -> Session | None:
        """The capture that is this process's where its parent had ``session`` open."""
        if session.here:
            return session
        with self._lock:
            self._before_fork = [other for other in self._before_fork if other is not session]
            return next((child for parent, child in self._forks if parent is session), None)

    def run_programs(self) -> None:
        """Take up Inductor's programs that torch has loaded since; it tells of them before."""
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
        sessions = self._open_sessions()
        if not sessions:
            return None
        replacement: CodeType | None = None
        inner = sessions[-1]
        with inner.guard(f"rewriting {original.co_name}"):
            compile_id = hooks.current_compile_id()
            for session in sessions:
                with session.guard(f"dumping {original.co_name}"):
                    code = _frame(session, compile_id, original, transformed, session is inner)
                    replacement = code if session is inner else replacement
                with session.guard(f"running the graphs of {original.co_name}"):
                    session.settle(session.key(compile_id))
        return replacement

    def _on_trace(self, record: TraceRecord) -> None:
        if getattr(self._busy, "now", False):
            return  # what our own work makes torch log is no part of the program
        self._busy.now = True
        try:
            self.run_programs()
            sessions = self._open_sessions()
            for session in sessions:
                with session.guard(f"reading torch's trace event {record.kind}"):
                    program = on_record(session, record, session is sessions[-1])
                    if program is not None:
                        with self._lock:
                            self._unloaded.append((session, *program))
        finally:
            self._busy.now = False

    def _on_formatted(self, name: str, graph: Any) -> None:
        """Take a graph that torch, or somebody else, formats for torch's log."""
        if not sent_twice(name):
            self.add_graph(stage_named(name), graph)

    def add_graph(self, stage: str, graph: Any) -> str | None:
        """Write a graph into every open session; return its file's name in the innermost one."""
        sessions = self._open_sessions()
        if not sessions or getattr(self._busy, "now", False):
            return None
        self._busy.now = True
        file = None
        try:
            with sessions[-1].guard(f"formatting the graph {stage}"):
                text = named_class(hooks.readable(graph))
                for session in sessions:
                    key = session.key(hooks.current_compile_id())
                    file = _graph(session, key, stage, graph, text, False).file
        finally:
            self._busy.now = False
        return file


CAPTURE = Capture()


# -- transformed frames ----------------------------------------------------------------------------


def _frame(
    session: Session,
    compile_id: str | None,
    original: CodeType,
    transformed: CodeType,
    swap: bool,
) -> CodeType | None:
    """Write one transformed version; return the code that may run in its place."""
    function, place = session.function(original), _place_of(original)
    key = session.key(compile_id)
    rewriting = rewrite(transformed, key.slug, original, hooks.resume_parameters(original))
    name = session.claim(transformed_name(key, original.co_name), (key, function))
    replacement, running = None, ""
    if not swap:
        running = "a capture inside this one has the file that runs"
    elif rewriting.source is None:
        running = "there is no source"
    elif not rewriting.verdict.proven:
        running = "nothing runs in place of Dynamo's code without proof"
    graphs = [g.text for g in session.of(Graph) if g.key == key and g.stage == "captured"]
    if rewriting.source is not None:
        rewriting = replace(rewriting, source=annotate(rewriting.source, original, graphs))
    text = _text(session, key, place, rewriting, running)
    if not running:
        try:
            replacement = rewriting.compile(text, str(session.path(name)))
        except Exception as error:
            running = f"{type(error).__name__}: {error}"
            text = _text(session, key, place, rewriting, running)
    session.write(name, text)
    if swap:  # once, however many captures are open
        with session.guard(f"sending {name} to torch's trace"):
            hooks.send_artifact(name.rpartition(".")[0].strip("_"), text)
    frame = Frame(
        key=key,
        function=function,
        place=place,
        source=rewriting.source,
        verdict=rewriting.verdict,
        file=name,
        swapped=replacement is not None,
    )
    session.record(frame)
    return replacement


def _text(
    session: Session, key: CompileKey, place: Place, rewriting: Rewriting, running: str
) -> str:
    breaks = [event for event in session.of(Break) if event.key == key]
    return transformed_text(key, place, rewriting, breaks, running, session.show_bytecode)


# -- the structured trace --------------------------------------------------------------------------


def on_record(session: Session, record: TraceRecord, runs: bool) -> tuple[Graph, str] | None:
    """Make events, and graph files, of one record of the structured trace.

    Where several captures are open, ``runs`` is true for the one whose files are to run.  Returns a
    program of Inductor's with the path of its own file, from which torch will load it.
    """
    kind, payload = record.kind, record.payload
    if kind == UNREADABLE:
        session.problem("an event of torch's trace", str(record.data))
        return None
    if kind.startswith(f"artifact:{OURS}"):
        return None
    if kind == "dynamo_start":
        session.record(Started(session.start(record.compile_id), _place(record.data)))
        return None
    key = session.key(record.compile_id)
    if kind == "inductor_output_code" and payload is not None:
        program = _graph(session, key, program_stage(payload), None, payload, runs)
        _kernels(session, program)
        path = record.data.get("file_path") if isinstance(record.data, dict) else None
        return None if path is None or not runs else (program, str(path))
    stage = stage_of(kind, payload, hooks.direction() if "post_grad" in kind else "")
    if stage is not None and payload is not None:
        module = hooks.emitted_graph(kind)
        _graph(session, key, stage, module, named_class(payload), runs)
    elif kind == "artifact:dynamo_graph_break_reason" and payload is not None:
        event = Break(key, payload)
        if event not in session.of(Break):  # an attempt that starts over breaks at the same place
            session.record(event)
    elif kind == "artifact:recompile_reasons":
        session.record(Recompile(key, _reasons(payload)))
    elif facts.take(session, key, record) and kind == "compilation_metrics":
        session.settle(key)  # a compile that failed makes no frame
        if session.is_fork and not child_number():
            write_summary(session)  # such a process may leave without running anything at its end
    return None


def _kernels(session: Session, program: Graph) -> None:
    for kernel in kernels(program.text):
        name = kernel_name(program.file, kernel.name, kernel.suffix)
        session.write(name, kernel_text(program.file, kernel.text, kernel.suffix))
        session.record(KernelFile(program.key, kernel.name, program.file, name))


def _graph(
    session: Session, key: CompileKey, stage: str, module: Any | None, text: str, runs: bool
) -> Graph:
    # Several graphs of one stage in one compile are told apart by a number; torch starting an
    # attempt over makes the same graph again, which replaces the first.
    name = graph_name(key, stage)
    if stage != "captured":
        name = session.claim(name, (key, stage, text))
    needs = None
    with session.guard(f"describing the inputs of {name}"):
        needs = needs_of_text(text, _sizes(session, key)) if module is None else describe(module)
    event = Graph(key, stage, name, text, needs)
    session.write(name, graph_text(event))
    session.record(event)
    if module is not None and runs:
        graph_files.follow(session, event, module)
    return event


def _sizes(session: Session, key: CompileKey) -> dict[str, int]:
    """The numbers for which a compile's symbolic sizes stood, from the graph that Dynamo made."""
    graphs = [g.needs for g in session.of(Graph) if g.key == key and g.needs is not None]
    values = [value for graph in graphs for value in graph.inputs if value.literal.isdigit()]
    return {value.symbol: int(value.literal) for value in values if value.symbol}


def _place_of(code: CodeType) -> Place:
    return Place(code.co_filename, code.co_firstlineno, code.co_name)


def _place(data: Any) -> Place | None:
    stack = data.get("stack") if isinstance(data, dict) else None
    if not stack:
        return None
    top = stack[-1]
    file = hooks.interned(top.get("filename"))
    return Place(file or "?", int(top.get("line") or 0), str(top.get("name") or ""))


def _reasons(payload: str | None) -> tuple[str, ...]:
    try:
        reasons = json.loads(payload or "[]")
    except ValueError:
        reasons = [payload]
    return tuple(map(str, reasons)) if isinstance(reasons, list) else (str(reasons),)


# -- the end of a capture --------------------------------------------------------------------------


def at_exit(action: Callable[[], None]) -> None:
    """Do something when this process ends, also where that is a child of ``multiprocessing``."""
    atexit.register(action)
    if child_number():  # such a process leaves without a word to atexit
        multiprocessing.util.Finalize(None, action, exitpriority=10)


def finish(session: Session) -> None:
    """Close a capture and write what is known only at its end; a second call does nothing."""
    if not CAPTURE.close(session):
        return
    with session.guard("closing the capture"):
        refresh_caches(session)
        add_compiled_before(session)
    for row in (*hooks.missing(), *guard_state.missing()):
        session.problem("this torch", f"no {row.name}: {row.lost}")
    _say_if_breaks_have_no_reason(session)
    write_summary(session)
    session.close()


def _say_if_breaks_have_no_reason(session: Session) -> None:
    """The oldest torch releases put no graph breaks into their trace; frames still show them."""
    broken = [f for f in session.of(Frame) if not f.before and "__resume_at_" in (f.source or "")]
    if broken and not session.of(Break):
        session.problem(
            "this torch", f"frames with a graph break: {len(broken)}; its trace does not say why"
        )


def refresh_caches(session: Session) -> None:
    """Read the cache entries of everything captured, with their guards."""
    for function, code in session.functions():
        if code is None:
            continue
        with session.guard(f"reading the guards of {code.co_name}"):
            entries = _entries(session, function, code)
            if entries:
                session.set_cache(function, entries)


def _entries(session: Session, function: int, code: CodeType) -> list[CacheEntry]:
    # After a reset the same id means another compile; the newest one holds the cache entry.
    frames = [frame for frame in session.of(Frame) if frame.function == function]
    newest = {frame.key.id: frame.key for frame in frames}
    # Before torch 2.6 an entry does not tell its id; the file that its code runs from does.
    by_file = {str(session.path(frame.file)): frame.key for frame in frames}
    result = []
    for raw in hooks.cache_entries(code):
        key = newest.get(raw.compile_id) or by_file.get(raw.code.co_filename)
        key = key or CompileKey(raw.compile_id)
        if raw.guard_manager is None:
            result.append(CacheEntry(key, ()))
            continue
        names = guard_state.names()
        made = guards.translate(raw.guard_manager, key.slug, names, guard_state.type_name)
        kept = made.kept.runs(raw.code, code)
        result.append(CacheEntry(key, made.guards, made.body, kept))
    return result


def add_compiled_before(session: Session) -> None:
    """Show what was compiled before the capture began, from torch's cache entries."""
    for code in hooks.compiled_before():
        if session.number(code) is not None:
            continue
        for raw in hooks.cache_entries(code):
            with session.guard(f"dumping {code.co_name}, compiled before the capture"):
                _compiled_before(session, code, raw)


def _compiled_before(session: Session, code: CodeType, raw: hooks.RawEntry) -> None:
    key, place, function = CompileKey(raw.compile_id), _place_of(code), session.function(code)
    rewriting = rewrite(raw.code, key.slug, code, hooks.resume_parameters(code))
    name = session.claim(transformed_name(key, code.co_name), (key, function))
    why = "it was compiled before the capture began, and is shown only"
    session.write(name, _text(session, key, place, rewriting, why))
    frame = Frame(
        key=key,
        function=function,
        place=place,
        source=rewriting.source,
        verdict=rewriting.verdict,
        file=name,
        swapped=False,
        before=True,
    )
    session.record(frame)


def _full_code_names(session: Session) -> dict[int, str]:
    """The file of each function that was compiled."""
    names: dict[int, str] = {}
    for frame in session.of(Frame):
        if frame.function not in names:
            wanted = full_code_name(frame.key.frame, frame.place.function)
            names[frame.function] = session.claim(wanted, frame.function)
    return names


def _binder(
    session: Session, entries: list[CacheEntry], files: dict[int, str]
) -> Callable[[Iterable[str]], list[str]]:
    """How the full code of a function with these entries binds the global names that it uses."""
    values: dict[str, Any] = {}
    for entry in entries:
        values.update(() if entry.kept is None else entry.kept.named(entry.key.slug))
    captured = {g.key: g.file for g in session.of(Graph) if g.stage == "captured"}
    graphs = {f"__compiled_fn_{key.slug}": file for key, file in captured.items()}

    def find_file(code: CodeType) -> tuple[str, str] | None:
        number = session.number(code)
        file = None if number is None else files.get(number)
        return None if file is None else (file, identifier(code.co_name))

    return lambda names: bindings(names, values, graphs, find_file)


def write_summary(session: Session) -> None:
    """Write full code, index and record: what is known only at the end."""
    full: dict[str, list[Frame]] = {}
    names = _full_code_names(session)
    for function, code in session.functions():
        versions = [frame for frame in session.of(Frame) if frame.function == function]
        if not versions:
            continue
        place = versions[0].place
        with session.guard(f"writing the full code of {place.function}"):
            keys = {frame.key for frame in versions}
            recompiles = [event for event in session.of(Recompile) if event.key in keys]
            name = names[function]
            by_key = {frame.key: frame for frame in versions}
            entries = session.cache(function)
            bind = _binder(session, entries, names)
            session.write(name, full_code_text(place, code, entries, by_key, recompiles, bind))
            for entry in entries:
                guard_objects.register(str(session.path(name)), entry.key.slug, entry.kept)
            full[name] = versions
    with session.guard("reading versions and configuration"):
        session.versions = hooks.versions()
        session.configuration = hooks.changed_configuration()
    with session.guard("writing the index"):
        session.write(INDEX, index_text(session, full))
    with session.guard("writing the times"):
        session.write(TIMES, session.times_json())
    with session.guard("writing the record"):
        session.write(RECORD, session.to_json())
