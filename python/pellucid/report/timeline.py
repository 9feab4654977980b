# SPDX-License-Identifier: Apache-2.0
"""When the parts of the compiler's work were done: bars for the page, and a trace for Perfetto."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List

from pellucid.torch.model.capture import Capture


@dataclass(frozen=True)
class Bar:
    """One part of the work."""

    key: str
    name: str
    start: float
    seconds: float
    row: int
    """How deep it is nested in others."""
    thread: int = 0


_PARTS = (
    ("AOTAutograd", "aot_autograd_cumulative_compile_time"),
    ("Inductor", "inductor_compile_time"),
    ("code generation", "code_gen_time"),
)


def bars_of(capture: Capture) -> List[Bar]:
    """Return the bars of a capture; without spans, the sums that torch tells, one after another."""
    spans = sorted(capture.spans, key=lambda s: (s.thread, s.start, -s.seconds))
    if spans:
        return _nested(spans)
    bars: List[Bar] = []
    at = 0.0
    for times in capture.times:
        seconds = times.seconds
        whole = seconds.get("duration") or seconds.get("entire_frame_compile_time") or 0.0
        key = str(times.key)
        bars.append(Bar(key, "backward" if times.backward else "compile", at, whole, 0))
        left, room = at, whole
        for row, (name, field) in enumerate(_PARTS, 1):
            part = min(seconds.get(field, 0.0), room)
            if part > 0:
                left += room - part
                room = part
                bars.append(Bar(key, name, left, part, row))
        at += whole
    return bars


def _nested(spans: List[Any]) -> List[Bar]:
    bars = []
    open_until: Dict[int, List[float]] = {}
    for span in spans:
        stack = open_until.setdefault(span.thread, [])
        while stack and stack[-1] <= span.start + 1e-9:
            stack.pop()
        bars.append(
            Bar(str(span.key), span.name, span.start, span.seconds, len(stack), span.thread)
        )
        stack.append(span.start + span.seconds)
    return bars
