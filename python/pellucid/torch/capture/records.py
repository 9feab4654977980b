# SPDX-License-Identifier: Apache-2.0
"""The structured trace: from torch's records to events and graph files."""

from __future__ import annotations

import functools
import itertools
import json
import re
from dataclasses import replace
from typing import Any, Callable, Mapping

from pellucid.dump.model.breaks import break_of
from pellucid.dump.model.events import (
    Break,
    CompileKey,
    ExternCall,
    FilteredGuards,
    Graph,
    KernelFile,
    Operator,
    Place,
    Recompile,
    Specialized,
    Started,
    Unbacked,
)
from pellucid.dump.model.failures import failures_of, innermost
from pellucid.dump.model.graph_text import graph_hash, nodes_of_text
from pellucid.dump.model.names import identifier, scrub
from pellucid.dump.model.needs import Needs, needs_of_text
from pellucid.dump.model.program_text import add_origins, kernels_of_text
from pellucid.dump.model.stages import kernels, program_stage, stage_named, stage_of
from pellucid.dump.model.traced import TAKEN, fate_of
from pellucid.dump.store.session import Session

from ..taps.fx_meta import callers, describe
from ..taps.shapes import SHAPES
from ..taps.trace import OURS, UNREADABLE, TraceRecord
from ..text.dump import graph_name, graph_text, kernel_name, kernel_text, named_class
from . import graph_files, spans, traced
from . import metrics as facts
from .process import PROCESS, Process
from .saved import add_saved, keep_sources
from .summary import write_summary


def on_record(
    session: Session, record: TraceRecord, runs: bool, process: Process = PROCESS
) -> tuple[Graph, str] | None:
    """Create the events and graph files of one record of the structured trace.

    If several captures are open, ``runs`` is true for the one whose files run.  Information that
    the record lacks comes from ``process``.  Returns an Inductor program and the path of its own
    file, from which torch will load it.
    """
    kind, payload, subgraph = record.kind, record.payload, record.subgraph
    if kind == UNREADABLE:
        session.problem("an event of torch's trace", str(record.data))
        return None
    if kind.startswith(f"artifact:{OURS}"):
        return None
    if kind == "dynamo_start":
        place = place_of(record.data, process)
        stack = _stack(session, record.data, place, process)
        session.record(Started(session.start(record.compile_id), place, stack))
        if place is not None:
            process.keep_source(session, place.file)
        return None
    key = session.key(record.compile_id)
    fate = fate_of(kind)
    if fate is not None and fate.of == TAKEN:
        if fate.what == "program":
            return _program(session, key, record, runs, process)
        TAKERS[fate.what](session, key, record, process)
        return None
    stage = stage_of(kind, payload, process.direction() if "post_grad" in kind else "")
    data = record.data if isinstance(record.data, Mapping) else {}
    if kind == "graph_dump" and payload and data.get("type") == "cpp":
        stage = stage_named(str(data.get("name")))  # of an AOT package, which runs no Python
        write_graph(session, key, stage, None, payload, False, subgraph, process)
        return None
    if stage == "forward" and not _has_joint(session, key):
        stage = "inference"  # torch 2.4 uses the same name for both
    if stage is not None and payload is not None:
        module = process.graph(kind, payload)
        text = named_class(payload)
        graph = write_graph(session, key, stage, module, text, runs, subgraph, process)
        with session.guard(f"finding what {graph.file} is kept for"):
            if stage == "captured":
                keep_sources(session, key, module)
            elif stage == "backward":
                add_saved(session, graph, _sizes(session, key), process)
    return None


def _program(
    session: Session, key: CompileKey, record: TraceRecord, runs: bool, process: Process
) -> tuple[Graph, str] | None:
    payload = record.payload
    if payload is None:
        return None
    stage = program_stage(payload)
    program = write_program(session, key, stage, payload, runs, record.subgraph, process)
    data = record.data if isinstance(record.data, dict) else {}
    path = data.get("file_path", data.get("filename"))  # older releases only have the second
    return None if path is None or not runs else (program, str(path))


def write_program(
    session: Session,
    key: CompileKey,
    stage: str,
    text: str,
    runs: bool,
    subgraph: str = "",
    process: Process = PROCESS,
) -> Graph:
    """Write a generated program and its kernels to their files; record them."""
    program = write_graph(session, key, stage, None, text, runs, subgraph, process)
    _kernels(session, program, graph_text(program), process)
    return program


def _ways(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    session.ways[key] = process.ways()
    with session.guard("reading which guards are filtered"):
        filtered = process.filtered()
        if filtered is not None:
            session.record(FilteredGuards(key, *filtered))


def _spans(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    event = record.data if record.payload is None else record.payload
    spans.take(session, key, event, process.thread())


def _breaks(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    if record.payload is None:
        return
    event = break_of(key, record.payload)
    if event not in session.of(Break, key):  # restarted attempts break there again
        session.record(event)


def _recompile(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    reasons = tuple(map(scrub, _reasons(record.payload)))
    session.record(Recompile(key, reasons, failures_of(key, reasons)))


def _traced(record: TraceRecord, process: Process) -> tuple[Place, ...]:
    """Return the calls that torch is tracing, if an event has them."""
    frames = places_of(record.data.get("user_stack"), process)
    # Outside Dynamo, torch gives the stack of the process, which ends in our files.
    return () if frames and _TAP in frames[-1].file.replace("\\", "/") else frames


_TAP = "/pellucid/torch/taps/"


def _specialized(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    if isinstance(record.data, dict):
        frames = _traced(record, process)
        of = tuple(map(str, record.data.get("sources") or ()))
        value = str(record.data.get("value"))
        session.record(Specialized(key, of, value, innermost(frames), frames))


def _unbacked(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    if isinstance(record.data, dict):
        frames = _traced(record, process)
        event = Unbacked(key, str(record.data.get("symbol")), innermost(frames), frames)
        if event not in session.of(Unbacked, key):
            session.record(event)


def _metrics(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    facts.take_metrics(session, key, record, process)
    if record.kind == "compilation_metrics" and isinstance(record.data, Mapping):
        session.settle(key)  # a failed compile produces no frame
        with session.recorded_early() as wanted:
            if wanted:
                write_summary(session)


TAKERS: Mapping[str, Callable[[Session, CompileKey, TraceRecord, Process], None]] = {
    **{name[5:]: take for name, take in vars(traced).items() if name.startswith("take_")},
    "ways": _ways,
    "spans": _spans,
    "breaks": _breaks,
    "recompile": _recompile,
    "specialized": _specialized,
    "unbacked": _unbacked,
    "metrics": _metrics,
    "cache": facts.take_cache,
    "cache_not_saved": facts.take_unsaved,
    "collectives": facts.take_collectives,
}
"""The handlers of events by name in `model.traced`: these, and `take_…` of `capture.traced`."""


def _has_joint(session: Session, key: CompileKey) -> bool:
    return any(graph.stage == "joint" for graph in session.of(Graph, key))


def _kernels(session: Session, program: Graph, text: str, process: Process) -> None:
    """Write the kernels of a program, and record what each of its calls computes."""
    found = kernels_of_text(text)
    with session.guard(f"finding what {program.file} was generated from"):
        origins = process.origins()
        session.buffers[program.file] = origins
        add_origins(found, {name: origin[:2] for name, origin in origins.items()})
    by_name = {kernel.name: kernel for kernel in found if kernel.kind != "extern"}
    for kernel in kernels(program.text):
        name = kernel_name(program.file, kernel.name, kernel.suffix)
        name = session.claim(name, (program.file, kernel.name))
        session.write(name, kernel_text(program.file, kernel.text, kernel.suffix))
        event = KernelFile(program.key, kernel.name, program.file, name)
        read = by_name.get(kernel.name)
        if read is not None:
            calls, nodes = tuple(read.calls), tuple(read.nodes)
            event = replace(event, kind=read.kind, line=read.line, calls=calls, nodes=nodes)
            event = replace(event, exact=tuple(read.generated_from))
        session.record(event)
    for call in found:
        if call.kind == "extern":
            nodes, exact = tuple(call.nodes), tuple(call.generated_from)
            line = call.calls[0]
            session.record(ExternCall(program.key, call.name, program.file, line, nodes, exact))


def write_graph(
    session: Session,
    key: CompileKey,
    stage: str,
    module: Any | None,
    text: str,
    runs: bool,
    subgraph: str = "",
    process: Process = PROCESS,
    metadata: dict[str, Any] | None = None,
) -> Graph:
    """Write a graph of a compile to its file and record it; with ``runs``, run it from there."""
    # Several graphs of one stage in a compile are distinguished by metadata or a number; a
    # restarted attempt produces the same graph again, which replaces the first.
    told = "" if not metadata else json.dumps(metadata)
    parts = (stage, identifier(subgraph)[:80] if subgraph else "", _short(metadata))
    name = graph_name(key, "_".join(filter(None, parts)))
    if stage != "captured":
        name = session.claim(name, (key, stage, text, told))
    event = Graph(key, stage, name, text, subgraph=subgraph, metadata=metadata)
    if not event.is_program:
        with session.guard(f"describing the inputs of {name}"):
            event = _described(session, event, module, process)
    written = graph_text(event)
    session.write(name, written)
    if not event.is_program:
        with session.guard(f"reading the nodes of {name}"):
            event = replace(event, hash=_nodes(session, event, written))
    session.record(event)
    if module is not None and runs:
        graph_files.follow(session, event, module)
    return event


def _described(session: Session, event: Graph, module: Any | None, process: Process) -> Graph:
    """Return a graph with what its file needs to run by itself."""
    if module is None:
        needs = _needs(event.text, tuple(_sizes(session, event.key).items()))
    else:
        needs = describe(module)
    if needs is not None:
        needs = replace(needs, operators=process.operators(event.text))
    is_captured = event.stage == "captured"
    if needs is not None and is_captured:
        _operators(session, needs, process)
    calls = callers(module) if module is not None and is_captured else ()
    return replace(event, needs=needs, calls=calls)


@functools.lru_cache(maxsize=1)  # most stages leave a graph unchanged
def _needs(text: str, sizes: tuple[tuple[str, int], ...]) -> Needs | None:
    return needs_of_text(text, dict(sizes))


def _operators(session: Session, needs: Needs, process: Process) -> None:
    for name, schemas in process.schemas(name for name, _ in needs.operators).items():
        session.record_once(Operator(name, schemas))


def _short(metadata: dict[str, Any] | None) -> str:
    """Return a graph's metadata as part of its file name.

    >>> _short({"range": [1, 8], "pass": "fusion"})
    'range_1_8_pass_fusion'
    """
    return identifier(json.dumps(metadata))[:60].strip("_") if metadata else ""


def _nodes(session: Session, event: Graph, text: str) -> str:
    """Store the nodes of a written graph; return its hash."""
    # A stage often leaves a graph unchanged; then only the file's header differs.
    head = re.match(r"(?:#.*\n)*", text)
    end = 0 if head is None else head.end()
    known = (text.count("\n", 0, end), text[end:])
    last = session.last_nodes
    if last is None or last[0] != known:
        modules = None if event.needs is None else dict(event.needs.modules)
        nodes = nodes_of_text(text, modules)
        last = session.last_nodes = (known, nodes, graph_hash(nodes, text.split("\n")))
    session.nodes[event.file] = last[1]
    return last[2]


def _sizes(session: Session, key: CompileKey) -> dict[str, int]:
    """Return the values of a compile's symbolic sizes, from Dynamo's graph."""
    graphs = [g.needs for g in session.of(Graph, key) if g.needs is not None]
    values = [value for graph in graphs for value in graph.inputs if value.literal.isdigit()]
    return {value.symbol: int(value.literal) for value in values if value.symbol}


def places_of(stack: Any, process: Process) -> tuple[Place, ...]:
    """Return the calls of a stack in torch's trace, whose file names may be interned numbers."""
    calls = stack if isinstance(stack, list) else ()
    return tuple(
        Place(
            process.string(c.get("filename")) or "?",
            int(c.get("line") or 0),
            str(c.get("name") or ""),
        )
        for c in calls
        if isinstance(c, dict)
    )


def place_of(data: Any, process: Process = PROCESS) -> Place | None:
    """Return the place of the frame in a record that starts a compile."""
    stack = data.get("stack") if isinstance(data, dict) else None
    if not stack or not isinstance(stack[-1], dict) or not {"filename", "line"} <= set(stack[-1]):
        SHAPES.missed("place where a compile starts")
        return None
    if any(process.is_compilers(str(process.string(call.get("filename")))) for call in stack):
        # Older releases report frames of the compiler instead of the frame itself.
        code = process.code()
        return None if code is None else Place(code.co_filename, code.co_firstlineno, code.co_name)
    top = stack[-1]
    file = process.string(top.get("filename"))
    return Place(file or "?", int(top.get("line") or 0), str(top.get("name") or ""))


def _stack(session: Session, data: Any, place: Place | None, process: Process) -> tuple[Place, ...]:
    """Return the user's calls that led to a frame, outermost first, and the frame itself."""
    # A dumped file that runs in place of a function is identified by its name.
    callers = (call for call in process.callers() if process.is_users(call.file))
    direct = tuple(itertools.islice(callers, _DEEPEST))
    if direct and place is not None:
        named = (replace(call, file=session.name_in_dump(call.file)) for call in reversed(direct))
        return (*named, place)
    calls = data.get("stack") if isinstance(data, dict) else None
    found = [
        Place(str(process.string(call.get("filename"))), int(call["line"]), str(call.get("name")))
        for call in calls or ()
        if isinstance(call, dict) and str(call.get("line")).isdigit()
    ]
    users = [place for place in found[:-1] if process.is_users(place.file)]
    return (*users[-_DEEPEST:], *found[-1:])


_DEEPEST = 12


def _reasons(payload: str | None) -> tuple[str, ...]:
    try:
        reasons = json.loads(payload or "[]")
    except ValueError:
        reasons = [payload]
    return tuple(map(str, reasons)) if isinstance(reasons, list) else (str(reasons),)
