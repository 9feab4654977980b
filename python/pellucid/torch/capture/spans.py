# SPDX-License-Identifier: Apache-2.0
"""When each part of the compiler's work was done: from torch's profiling events to spans."""

from __future__ import annotations

import json
import threading
from typing import Any, Mapping

from ..model.events import CompileKey, Span
from ..store.session import Session

EVENT = "chromium_event"
_SHORTEST = 1e-4
"""In seconds; there are very many that are shorter, and they explain nothing."""


class SpanReader:
    """Pairs the events that begin and end a part of the work, of one capture.

    Args:
        opened: when the capture began, in seconds since the epoch.
    """

    def __init__(self, opened: float) -> None:
        self._opened = opened
        self._open: dict[int, list[tuple[CompileKey, str, float]]] = {}
        self._threads: dict[int, int] = {}
        self._lock = threading.Lock()

    def take(self, key: CompileKey, event: Any, ident: int) -> Span | None:
        """Take one of torch's events, of a thread; return the span that it ends."""
        if isinstance(event, str):
            event = json.loads(event)
        if not isinstance(event, Mapping) or not isinstance(event.get("ts"), (int, float)):
            return None
        name, phase, at = str(event.get("name")), event.get("ph"), float(event["ts"]) / 1e6
        with self._lock:
            thread = self._threads.setdefault(ident, len(self._threads))
            waiting = self._open.setdefault(thread, [])
            if phase == "B":
                waiting.append((key, name, at))
                return None
            if phase != "E" or not any(other == name for _, other, _ in waiting):
                return None
            while True:  # one that an exception ended has no end of its own
                begun, other, start = waiting.pop()
                if other == name:
                    break
        start_here = round(max(start - self._opened, 0.0), 6)
        return Span(begun, name, start_here, round(max(at - start, 0.0), 6), thread)


def take(session: Session, key: CompileKey, event: Any, thread: int) -> None:
    """Record the span that one of torch's events ends."""
    if session.span_reader is None:
        session.span_reader = SpanReader(session.opened)
    span = session.span_reader.take(key, event, thread)
    if span is not None and span.seconds >= _SHORTEST:
        session.record(span)
