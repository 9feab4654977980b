"""Hook calls to events, and events to files while the program runs.

One capture of the process: torch's hooks are installed when the first session opens and removed
when the last one closes.  Sessions nest; each gets every event, and the innermost one's
files are the ones that run.  Compiles happen under torch's own lock, but events also come from
other threads.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from types import CodeType
from typing import Any, Mapping

from . import graph_files, guards, hooks
from .dump import (
    graph_name,
    graph_text,
    inductor_stage,
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
    Metrics,
    Place,
    Recompile,
    Started,
)
from .full_code import full_code_name, full_code_text
from .fx_meta import describe
from .graph_needs import needs_of_text
from .index import index_text
from .rewrite import Rewriting, rewrite
from .session import INDEX, RECORD, Session
from .trace import UNREADABLE, TraceRecord
from .user_lines import annotate

_STAGE_OF_EVENT: Mapping[str, str] = {
    "dynamo_output_graph": "captured",
    "aot_joint_graph": "joint",
    "aot_forward_graph": "forward",
    "aot_backward_graph": "backward",
    "aot_inference_graph": "inference",
}
# Of torch's metrics, those that are the same in the next run.
_STABLE_METRICS = (
    "co_name",
    "co_filename",
    "co_firstlineno",
    "cache_size",
    "guard_count",
    "shape_env_guard_count",
    "graph_op_count",
    "graph_node_count",
    "graph_input_count",
    "fail_type",
    "fail_reason",
    "fail_user_frame_filename",
    "fail_user_frame_lineno",
    "has_guarded_code",
)


class Capture:
    """The process's one connection to torch, shared by all open sessions."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: list[Session] = []
        self._remove: list[hooks.Remove] = []
        self._busy = threading.local()
        self._unloaded: list[tuple[Session, Graph, str]] = []

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
                ]

    def close(self, session: Session) -> None:
        """Stop recording into a session; the last one removes the hooks."""
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

    def _open_sessions(self) -> tuple[Session, ...]:
        with self._lock:
            return tuple(session for session in self._sessions if session.here)

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
    rewriting = rewrite(transformed, key.slug)
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
    if kind == "dynamo_start":
        session.record(Started(session.start(record.compile_id), _place(record.data)))
        return None
    key = session.key(record.compile_id)
    if kind in _STAGE_OF_EVENT and payload is not None:
        _graph(session, key, _STAGE_OF_EVENT[kind], kind, named_class(payload), runs)
    elif kind == "inductor_output_code" and payload is not None:
        program = _graph(session, key, inductor_stage(payload), kind, payload, runs)
        path = record.data.get("file_path") if isinstance(record.data, dict) else None
        return None if path is None or not runs else (program, str(path))
    elif kind == "artifact:dynamo_graph_break_reason" and payload is not None:
        event = Break(key, payload)
        if event not in session.of(Break):  # an attempt that starts over breaks at the same place
            session.record(event)
    elif kind == "artifact:recompile_reasons":
        session.record(Recompile(key, _reasons(payload)))
    elif kind == "compilation_metrics" and isinstance(record.data, dict):
        values = {k: record.data[k] for k in _STABLE_METRICS if record.data.get(k) is not None}
        session.record(Metrics(key, values))
        session.settle(key)  # a compile that failed makes no frame
    return None


def _graph(
    session: Session, key: CompileKey, stage: str, kind: str, text: str, runs: bool
) -> Graph:
    module = hooks.emitted_graph(kind)
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
    newest = {f.key.id: f.key for f in session.of(Frame) if f.function == function}
    result = []
    for raw in hooks.cache_entries(code):
        leaves = [] if raw.guard_manager is None else list(hooks.leaf_guards(raw.guard_manager))
        key = newest.get(raw.compile_id, CompileKey(raw.compile_id))
        result.append(CacheEntry(key, tuple(guards.translate(leaves))))
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
    rewriting = rewrite(raw.code, key.slug)
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


def write_summary(session: Session) -> None:
    """Write full code, index and record: what is known only at the end."""
    full: dict[str, list[Frame]] = {}
    for function, code in session.functions():
        versions = [frame for frame in session.of(Frame) if frame.function == function]
        if not versions:
            continue
        place = versions[0].place
        with session.guard(f"writing the full code of {place.function}"):
            keys = {frame.key for frame in versions}
            recompiles = [event for event in session.of(Recompile) if event.key in keys]
            name = session.claim(full_code_name(versions[0].key.frame, place.function), function)
            by_key = {frame.key: frame for frame in versions}
            text = full_code_text(place, code, session.cache(function), by_key, recompiles)
            session.write(name, text)
            full[name] = versions
    with session.guard("writing the index"):
        session.write(INDEX, index_text(session, full))
    with session.guard("writing the record"):
        session.write(RECORD, session.to_json(hooks.versions()))
