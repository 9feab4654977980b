# SPDX-License-Identifier: Apache-2.0
"""Handlers for trace records other than graphs and frames; each record becomes an event."""

from __future__ import annotations

import re
import traceback
from typing import Any

from pellucid.dump.model.breaks import calls_of
from pellucid.dump.model.events import (
    AutogradCompile,
    BackwardFailure,
    CompileKey,
    MinCut,
    Place,
    RankMismatch,
    SideEffect,
    Skipped,
    Started,
    Wrappers,
)
from pellucid.dump.model.names import scrub
from pellucid.dump.store.session import Session

from ..taps.trace import TraceRecord
from ..text.dump import graph_name, wrappers_text
from .metrics import table_of
from .process import PROCESS, Process

_STAGE = "runtime_wrappers"
_ALL = "aot_autograd_runtime_wrappers"
_PART = re.compile(r"^# (\w+)\n(?=(?:async )?def )", re.MULTILINE)
_EFFECT = re.compile(
    r"^Mutating object of type (?P<type>.+?) \((?:source name: (?P<name>.*)|source: (?P<source>.*)"
    r"|no source)\)(?: \(unable .*\))?$",
    re.MULTILINE,
)


def take_wrappers(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    """Write the functions that AOTAutograd has generated so far for a compile to one file."""
    name = record.kind.rpartition(":")[2]
    parts = session.wrappers.setdefault(key, [])
    if any(attempt != record.attempt for attempt, *_ in parts):
        parts.clear()  # Dynamo restarted, and everything is generated again
    for part in _parts(name, record.payload or ""):
        if (record.attempt, *part) not in parts:
            parts.append((record.attempt, *part))
    if not parts:
        return
    file = session.claim(graph_name(key, _STAGE), (key, _STAGE))
    session.write(file, wrappers_text(key, [part[1:] for part in parts]))
    if not session.of(Wrappers, key):
        session.record(Wrappers(key, file))


def _parts(name: str, text: str) -> list[tuple[str, str]]:
    """Return the functions in one record, each with torch's name for it.

    >>> _parts("dedup_wrapper", "def f(): ...")
    [('dedup_wrapper', 'def f(): ...')]
    >>> _parts(_ALL, "# a\\ndef f(): ...\\n\\n# b\\ndef g(): ...")
    [('a', 'def f(): ...'), ('b', 'def g(): ...')]
    """
    found = _PART.split(text) if name == _ALL else ["", name, text]
    pairs = zip(found[1::2], found[2::2]) if len(found) > 1 else [(name, text)]
    return [(part, body.strip("\n")) for part, body in pairs if body.strip()]


def take_side_effects(
    session: Session, key: CompileKey, record: TraceRecord, process: Process
) -> None:
    """Record the program's objects that compiled code mutates."""
    text = record.payload or ""
    heads = [*_EFFECT.finditer(text)]
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends):
        calls = calls_of(text[head.end() : end])
        place = next((call for call in reversed(calls) if process.is_users(call.file)), None)
        place = place or (calls[-1] if calls else None)
        source = head["name"] or head["source"] or ""
        event = SideEffect(key, head["type"], scrub(source), place)
        if event not in session.of(SideEffect, key):  # one per attempt
            session.record(event)


def take_autograd_compile(
    session: Session, key: CompileKey, record: TraceRecord, process: Process
) -> None:
    """Record why compiled autograd compiled a backward pass."""
    reasons = table_of(record.payload, list)
    if reasons:
        session.record(AutogradCompile(key, tuple(scrub(str(reason)) for reason in reasons)))


def take_untraced(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    """Record an error of torch that ends a trace outside Dynamo, such as torch.export's."""
    # Dynamo reports its own failures; since 2.15, torch.export has a compile id too.
    if not session.of(Started, key):
        add_error(session, process.handled(), process)


def add_error(session: Session, error: BaseException | None, process: Process = PROCESS) -> None:
    """Record an error of torch's compiler that reached the program, if none is recorded yet."""
    if error is None or not type(error).__module__.startswith(_COMPILER):
        return
    if any(event.raised for event in session.of(Skipped)):
        return
    steps = [(step.f_code, line) for step, line in traceback.walk_tb(error.__traceback__)]
    frames = tuple(Place(code.co_filename, line, code.co_name) for code, line in steps)
    own = tuple(frame for frame in frames if process.is_users(frame.file))
    for frame in own:
        process.keep_source(session, frame.file)
    at, key = (own or frames or (None,))[-1], CompileKey(None)
    kind, text = type(error).__name__, scrub(str(error))
    session.record(Skipped(key, None, kind, text, raised=True, at=at, frames=own))


_COMPILER = ("torch._dynamo.", "torch.fx.", "torch._export", "torch.export", "torch._functorch.")


def take_min_cut(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    """Record which tensors a memory budget saves, and which it recomputes."""
    told = table_of(record.payload, dict)
    sizes = ("Saved Values Activation", "Min Activation", "Max Activation")
    gigabytes = tuple(round(_number(told.get(f"{of} Size (GB)")), 6) for of in sizes)
    candidates = _names(told.get("Recomputable Banned Nodes Order"))
    numbers = told.get("Knapsack Recomputed Nodes")
    recomputed = tuple(
        candidates[number]
        for number in (numbers if isinstance(numbers, list) else ())
        if isinstance(number, int) and 0 <= number < len(candidates)
    )
    saved = _names(told.get("Min Cut Solution Saved Values"))
    session.record(MinCut(key, _number(told.get("Memory Budget")), gigabytes, saved, recomputed))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def take_mismatch(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    """Record that the graphs of the ranks differ."""
    session.record(RankMismatch(key, scrub((record.payload or "").strip("=\n "))))


def take_backward_failure(
    session: Session, key: CompileKey, record: TraceRecord, process: Process
) -> None:
    """Record that a backward graph failed to compile early."""
    text = scrub(record.payload or "").strip()
    last = [line for line in text.splitlines() if re.match(r"[A-Za-z_][\w.]*(?::|$)", line)]
    session.record(BackwardFailure(key, last[-1] if last else "torch gives no reason", text))
