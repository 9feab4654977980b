# SPDX-License-Identifier: Apache-2.0
"""Timing of the compiler's phases: from torch's profiling events to spans."""

from __future__ import annotations

import json
import threading
from typing import Any, Mapping

from pellucid.dump.model.events import CompileKey, Span
from pellucid.dump.model.ids import is_compile_id
from pellucid.dump.store.session import Session

EVENT = "chromium_event"
_SHORTEST = 1e-4
"""In seconds; shorter spans are very frequent and explain nothing."""


def event_of(event: Any) -> tuple[str, str, float] | None:
    """Parse one of torch's profiling events: name, phase, seconds since the epoch.

    >>> event_of('{"name": "gc", "ph": "B", "ts": 2000000.0}'), event_of("{}")
    (('gc', 'B', 2.0), None)
    """
    if isinstance(event, str):
        event = json.loads(event)
    if not isinstance(event, Mapping) or not isinstance(event.get("ts"), (int, float)):
        return None
    return str(event.get("name")), str(event.get("ph")), float(event["ts"]) / 1e6


def about_of(event: Any) -> str:
    """Return torch's description of a phase from its end event; empty for most phases.

    >>> stats = '{"num_choices": 24, "best_kernel": "triton_mm_3", "best_time": 0.0312}'
    >>> given = {"autotune_shape": "8x16, 16x4", "autotune_choices_stats": stats}
    >>> about_of({"name": "mm_template_autotuning", "args": given})
    '8x16, 16x4: triton_mm_3 is the best of 24 candidates, 0.0312 ms'
    """
    args = (json.loads(event) if isinstance(event, str) else event).get("args")
    if not isinstance(args, Mapping):
        return ""
    sizes = str(args.get("autotune_shape_hinted") or args.get("autotune_shape") or "")
    kernel = str(args.get("kernel_name") or "")
    try:
        stats = json.loads(str(args.get("autotune_choices_stats") or "{}"))
    except ValueError:
        stats = {}
    if not isinstance(stats, Mapping) or "best_kernel" not in stats:
        return sizes or kernel
    text = f"{stats['best_kernel']} is the best of {stats.get('num_choices', '?')} candidates"
    time = stats.get("best_time")
    text += f", {time:.4g} ms" if isinstance(time, (int, float)) else ""
    return f"{sizes}: {text}" if sizes else text


class SpanReader:
    """Pairs the begin and end events of one capture into spans.

    Args:
        opened: when the capture began, in seconds since the epoch.
    """

    def __init__(self, opened: float) -> None:
        self._opened = opened
        self._open: dict[int, list[tuple[CompileKey, str, float]]] = {}
        self._threads: dict[int, int] = {}
        self._lock = threading.Lock()

    def take(self, key: CompileKey, event: Any, ident: int) -> Span | None:
        """Handle one event of a thread; return the span that it ends."""
        read = event_of(event)
        if read is None:
            return None
        name, phase, at = read
        with self._lock:
            thread = self._threads.setdefault(ident, len(self._threads))
            waiting = self._open.setdefault(thread, [])
            if phase == "B":
                waiting.append((key, name, at))
                return None
            if phase != "E" or not any(other == name for _, other, _ in waiting):
                return None
            while True:  # phases ended by an exception have no end event
                begun, other, start = waiting.pop()
                if other == name:
                    break
        start_here = round(max(start - self._opened, 0.0), 6)
        seconds = round(max(at - start, 0.0), 6)
        return Span(begun, name, start_here, seconds, thread, about_of(event))


def take(session: Session, key: CompileKey, event: Any, thread: int) -> None:
    """Record the span that an event ends."""
    if key.id is None:
        key = session.key(_compile_of(event))
    if session.span_reader is None:
        session.span_reader = SpanReader(session.opened)
    span = session.span_reader.take(key, event, thread)
    if span is not None and span.seconds >= _SHORTEST:
        session.record(span)


def _compile_of(event: Any) -> str | None:
    """Return the compile id in an event, which torch adds when no compile is active."""
    args = (json.loads(event) if isinstance(event, str) else event).get("args")
    named = args.get("compile_id") if isinstance(args, Mapping) else None
    return named if isinstance(named, str) and is_compile_id(named) else None
