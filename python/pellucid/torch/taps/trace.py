# SPDX-License-Identifier: Apache-2.0
"""The events of torch's structured trace: plain values, parsed from its log records.

Nothing here imports torch; :mod:`~pellucid.torch.taps.hooks` adds the handler to torch's logger.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, Optional

from pellucid.dump.model import traced

from .printed import PRINTED
from .shapes import TRACE_CALL


@dataclass(frozen=True)
class TraceRecord:
    """One event of torch's structured trace."""

    kind: str
    """``dynamo_output_graph``, …; for an artifact, ``artifact:`` and its name."""
    data: Any
    payload: str | None
    compile_id: str | None
    attempt: int
    subgraph: str = ""
    """The name of the part of a graph that torch compiles separately."""


UNREADABLE = "pellucid:unreadable"
OURS = "pellucid_"
"""The prefix of the artifacts that we send ourselves."""

_NOT_THE_EVENT = frozenset(
    [
        "rank",
        "compiled_autograd_id",
        "frame_id",
        "frame_compile_id",
        "attempt",
        "severity",
        "timestamp",
        "pathname",
        "thread",
        "has_payload",
        "subgraph_name",
        "stack",
        "process_group_size",
    ]
)


def parse_trace(metadata: Mapping[str, Any], payload: object) -> TraceRecord | None:
    """Parse one record of the structured trace; None if it is not an event.

    >>> event = parse_trace({"dynamo_start": {}, "frame_id": 0, "frame_compile_id": 1}, None)
    >>> (event.kind, event.compile_id, event.attempt, event.subgraph)
    ('dynamo_start', '0/1', 0, '')
    """
    kind = next((key for key in metadata if key not in _NOT_THE_EVENT), None)
    if kind is None:
        return None
    data = metadata[kind]
    if kind == "artifact" and isinstance(data, dict):
        kind = f"artifact:{data.get('name')}"
    frame, compile_, autograd = (
        metadata.get(key) for key in ("frame_id", "frame_compile_id", "compiled_autograd_id")
    )
    compile_id = None if frame is None or compile_ is None else f"{frame}/{compile_}"
    if autograd is not None:
        compile_id = f"!{autograd}" + ("" if compile_id is None else f"/{compile_id}")
    text = payload if isinstance(payload, str) else None
    attempt, subgraph = int(metadata.get("attempt") or 0), str(metadata.get("subgraph_name") or "")
    return TraceRecord(kind, data, text, compile_id, attempt, subgraph)


class TraceHandler(logging.Handler):
    """Passes each event of the structured trace to ``receive``.

    Args:
        receive: called with the event.
        only: returns the few events that are wanted now, without payloads; None for all events
            that a capture uses.
    """

    def __init__(
        self,
        receive: Callable[[TraceRecord], None],
        only: Callable[[], Optional[FrozenSet[str]]] = lambda: None,
    ) -> None:
        super().__init__()
        self._receive = receive
        self._only = only

    def take(self, call: Mapping[str, Any], context: Callable[[Any], Dict[str, Any]]) -> None:
        """Receive what a call of torch's ``trace_structured`` would send, if it is wanted."""
        event: Optional[TraceRecord] = None
        try:
            name, only = call[TRACE_CALL[0]], self._only()
            if name not in only if only is not None else name != "artifact" and not wanted(name):
                return
            metadata = call["metadata_fn"]()
            if name == "artifact" and not wanted(name, str(metadata.get("name"))):
                return
            is_needed = name == _MANY or (name != _GUARDS and only is None)
            payload = None
            if is_needed:  # expensive to generate
                payload = PRINTED.text(call["payload_fn"]) or call["payload_fn"]()
            if name == _MANY:  # too frequent to serialize and parse
                metadata, payload = payload, None
            if not isinstance(payload, str) and payload is not None:
                payload = json.dumps(payload, default=repr)
            event = parse_trace({name: metadata, **context(call.get("compile_id"))}, payload)
        except Exception as error:  # torch is in the middle of a compile
            event = TraceRecord(UNREADABLE, f"{type(error).__name__}: {error}", None, None, 0)
        if event is not None:
            self._receive(event)

    def emit(self, record: logging.LogRecord) -> None:
        """Receive one record; our own exceptions do not leave this method."""
        metadata = getattr(record, "metadata", None)
        if not isinstance(metadata, dict) or not is_wanted(metadata):
            return
        try:
            event = parse_trace(metadata, getattr(record, "payload", None))
        except Exception as error:  # torch calls this in the middle of a compile
            event = TraceRecord(UNREADABLE, f"{type(error).__name__}: {error}", None, None, 0)
        if event is not None:
            self._receive(event)


_MANY = "chromium_event"
_GUARDS = "dynamo_cpp_guards_str"
# torch generates many more, some very often and some at great cost.
_WANTED = frozenset(kind for kind in traced.KINDS if ":" not in kind and traced.is_wanted(kind))


def wanted(event: str, artifact: str = "") -> bool:
    """Return true if a capture uses an event.

    >>> wanted("dynamo_start"), wanted("describe_tensor"), wanted("artifact", "f_ORIGINAL_BYTECODE")
    (True, False, False)
    """
    if event == "artifact":
        return not artifact.startswith(OURS) and traced.is_wanted(f"artifact:{artifact}")
    return event in _WANTED


def is_wanted(metadata: Mapping[str, Any]) -> bool:
    """Return true if a capture uses the event in a record's metadata.

    >>> is_wanted({"dynamo_start": {}, "rank": 0}), is_wanted({"artifact": {"name": "x_metadata"}})
    (True, False)
    """
    artifact = metadata.get("artifact")
    if isinstance(artifact, dict):
        return wanted("artifact", str(artifact.get("name")))
    return not _WANTED.isdisjoint(metadata)


class Listeners(List[logging.Handler]):
    """The handlers of torch's trace logger; false while ours is the only one.

    torch checks ``if trace_log.handlers`` before it generates an event, and generating it costs
    more than everything that a capture does with it.  It also runs functions of ``logging``, which
    Dynamo checks and counts if the event comes from inside a compiled program.  So the event is
    handled at that check, and generated only if it is wanted.  With another handler in the list, or
    for any other caller, this is an ordinary list.

    Args:
        handlers: ours first.
        context: returns the fields of a record that identify the compile, given the caller's
            ``compile_id``.
        is_strange: called if the caller's locals do not have the expected names.
    """

    def __init__(
        self,
        handlers: Iterable[logging.Handler],
        context: Callable[[Any], Dict[str, Any]],
        is_strange: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(handlers)
        self._context = context
        self._is_strange = is_strange
        self.is_asked_elsewhere = False
        """Whether any other function checked while ours was the only handler."""

    def __bool__(self) -> bool:
        if len(self) != 1 or not isinstance(self[0], TraceHandler):
            return len(self) > 0
        caller: Optional[FrameType] = sys._getframe(1)
        for _ in range(4):  # torch wraps this function in its own
            if caller is None or caller.f_code.co_name == "trace_structured":
                break
            caller = caller.f_back
        if caller is None or caller.f_code.co_name != "trace_structured":
            self.is_asked_elsewhere = True
            return True
        local = caller.f_locals
        if not set(TRACE_CALL) <= set(local):
            self._is_strange()
            return True  # another torch, with other names
        self[0].take(local, self._context)
        return False
