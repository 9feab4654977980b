# SPDX-License-Identifier: Apache-2.0
"""When the parts of the compiler's work were done: a flame for the page, sums, and a trace.

The trace is in Chrome's format of trace events, which Perfetto (ui.perfetto.dev) and
``chrome://tracing`` open: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import CompileKey, Frame, Metrics, Place, Started
from pellucid.dump.model.names import label
from pellucid.dump.model.phases import OWNERS, RESTART, cause_of, phase_of


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
    own: float = 0.0
    """The seconds in which none of its own parts was done."""
    at: float = 0.0
    """Where it begins when the times are left out in which nothing was compiled."""
    about: str = ""
    """What torch says of it."""


_PARTS = (
    ("AOTAutograd", "aot_autograd_cumulative_compile_time"),
    ("Inductor", "inductor_compile_time"),
    ("code generation", "code_gen_time"),
)
_MOST_SUMS = 14
_MOST_COMPILES = 60


def bars_of(capture: Capture) -> List[Bar]:
    """Return the bars of a capture; without spans, the sums that torch tells, one after another."""
    spans = sorted(capture.spans, key=lambda s: (s.thread, s.start, -s.seconds))
    return _without_gaps(_nested(spans) if spans else _from_sums(capture))


def _from_sums(capture: Capture) -> List[Bar]:
    bars: List[Bar] = []
    at = 0.0
    for times in capture.times:
        seconds = times.seconds
        whole = seconds.get("duration") or seconds.get("entire_frame_compile_time") or 0.0
        key = str(times.key)
        made = [Bar(key, "backward" if times.backward else "compile", at, whole, 0)]
        left, room = at, whole
        for row, (name, field) in enumerate(_PARTS, 1):
            part = min(seconds.get(field, 0.0), room)
            if part > 0:
                left += room - part
                room = part
                made.append(Bar(key, name, left, part, row))
        inner = [bar.seconds for bar in made[1:]]
        bars += [replace(b, own=b.seconds - part) for b, part in zip(made, [*inner, 0.0])]
        at += whole
    return bars


def _nested(spans: Sequence[Any]) -> List[Bar]:
    bars: List[Bar] = []
    own: List[float] = []
    open_bars: Dict[int, List[int]] = {}
    for span in spans:
        stack = open_bars.setdefault(span.thread, [])
        while stack and bars[stack[-1]].start + bars[stack[-1]].seconds <= span.start + 1e-9:
            stack.pop()
        if stack:
            own[stack[-1]] -= span.seconds
        key = str(span.key)
        if span.key.id is None and stack:  # a part of which torch does not say the compile
            key = bars[stack[-1]].key
        bar = Bar(key, span.name, span.start, span.seconds, len(stack), span.thread)
        bars.append(replace(bar, about=span.about))
        own.append(span.seconds)
        stack.append(len(bars) - 1)
    return [replace(bar, own=max(seconds, 0.0)) for bar, seconds in zip(bars, own)]


def _without_gaps(bars: List[Bar]) -> List[Bar]:
    """Say where each bar begins when only the time counts in which something was compiled."""
    idle = end = 0.0
    cut: Dict[float, float] = {}
    for start, seconds in sorted({(bar.start, bar.seconds) for bar in bars}):
        idle += max(0.0, start - end)
        end = max(end, start + seconds)
        cut[start] = idle
    return [replace(bar, at=bar.start - cut[bar.start]) for bar in bars]


# -- for the page ----------------------------------------------------------------------------------


def places_of(capture: Capture) -> Dict[str, Place]:
    """Return where the frame of each compile stands."""
    found = {str(e.key): e.place for e in capture.of(Started) if e.place is not None}
    found.update((str(frame.key), frame.place) for frame in capture.of(Frame))
    return found


def who(key: str, places: Dict[str, Place]) -> str:
    """Return a compile with its function and line: ``[0/0] forward (model.py:16)``."""
    place = places.get(key)
    if place is None:
        return f"[{key}]" if key != _NONE else "a helper thread"
    return f"[{key}] {label(place.function)} ({os.path.basename(place.file)}:{place.line})"


def _briefly(key: str, places: Dict[str, Place]) -> str:
    """Return a compile with its line first, which stays if a narrow bar cuts the rest."""
    place = places.get(key)
    return f"[{key}]" if place is None else f"[{key}] :{place.line} {label(place.function)}"


def flame_of(capture: Capture) -> List[List[Any]]:
    """Return a row for each bar: compile, label, begin, seconds, row, owner, explanation."""
    bars, places = bars_of(capture), places_of(capture)
    depth: Dict[int, int] = {}
    for bar in bars:
        depth[bar.thread] = max(depth.get(bar.thread, 0), bar.row + 1)
    first, below = {}, 0
    for thread in sorted(depth):
        first[thread], below = below, below + depth[thread]
    made = []
    above: Dict[Tuple[int, int], str] = {}  # what the bar above says is not said again
    for bar in bars:
        phase = phase_of(bar.name)
        what = bar.name if phase is None else f"{phase.owner} {phase.does} ({bar.name})"
        itself = "" if bar.seconds - bar.own < 1e-3 else f", {bar.own:.3f} s without its parts"
        text = f"{who(bar.key, places)}: {what}, {bar.seconds:.3f} s{itself}"
        text += f"; {bar.about}" if bar.about else ""
        does = bar.name if phase is None else phase.does
        shown = bar.name if does == above.get((bar.thread, bar.row - 1)) else does
        above[bar.thread, bar.row] = does
        if bar.row == 0 and bar.key != _NONE:
            shown = _briefly(bar.key, places)
        owner = OWNERS.index(phase.owner) if phase is not None else len(OWNERS)
        numbers = [round(bar.at, 6), round(bar.seconds, 6), bar.row + first[bar.thread]]
        made.append([bar.key, shown, *numbers, owner, text])
    return made


def elapsed(flame: Sequence[Sequence[Any]]) -> float:
    """Return the seconds in which something was compiled, from the rows of a flame."""
    return max((float(row[2]) + float(row[3]) for row in flame), default=0.0)


def _counted(bars: List[Bar]) -> List[Bar]:
    """The bars without those of threads that only help another one, at the same time."""
    helping = {bar.thread for bar in bars if bar.row == 0 and bar.key == _NONE}
    return [bar for bar in bars if bar.thread not in helping]


_NONE = str(CompileKey(None))


def sums_of(capture: Capture) -> List[Dict[str, Any]]:
    """Return where the time went: the parts of all compiles, the dearest first.

    The times of a part are its own, without the parts inside it, so that they add up.
    """
    bars = _counted(bars_of(capture))
    places = places_of(capture)
    groups: Dict[Tuple[str, str], List[Bar]] = {}
    for bar in bars:
        groups.setdefault(cause_of(bar.name), []).append(bar)
    whole = sum(bar.own for bar in bars) or 1.0
    rows = []
    for (owner, does), found in groups.items():
        of_key: Dict[str, float] = {}
        for bar in found:
            of_key[bar.key] = of_key.get(bar.key, 0.0) + bar.own
        seconds = sum(of_key.values())
        dearest = max(of_key, key=lambda key: of_key[key])
        rows.append(
            {
                "owner": owner,
                "does": does,
                "seconds": seconds,
                "share": round(100 * seconds / whole),
                "times": len(found),
                "most": f"{who(dearest, places)}: {of_key[dearest]:.2f} s",
            }
        )
    return sorted(rows, key=lambda row: -float(row["seconds"]))[:_MOST_SUMS]


def compiles_of(capture: Capture) -> List[Dict[str, Any]]:
    """Return the compiles, the longest first, with how often each was begun again, and why."""
    bars, places = _counted(bars_of(capture)), places_of(capture)
    reasons: Dict[str, List[str]] = {}
    for event in capture.of(Metrics):
        given = event.values.get("restart_reasons")
        reasons.setdefault(str(event.key), []).extend(given if isinstance(given, list) else ())
    rows: Dict[str, Dict[str, Any]] = {}
    attempts: Dict[str, List[float]] = {}
    for bar in bars:
        if bar.name.startswith(_ATTEMPT):
            attempts.setdefault(bar.key, []).append(bar.seconds)
        row = rows.setdefault(bar.key, {"key": bar.key, "seconds": 0.0, "again": 0, "lost": 0.0})
        if bar.row == 0:
            row["seconds"] += bar.seconds
        if RESTART.match(bar.name):
            row["again"] += 1
    for key, row in rows.items():
        row["who"] = who(key, places)
        row["lost"] = sum(attempts.get(key, [])[:-1])
        row["why"] = "; ".join(dict.fromkeys(reasons.get(key, ())))
    listed = sorted(rows.values(), key=lambda row: -float(row["seconds"]))
    return [row for row in listed if row["seconds"] > 0][:_MOST_COMPILES]


_ATTEMPT = "compile_attempt_"


# -- for Perfetto ----------------------------------------------------------------------------------


def trace_of(captures: Iterable[Tuple[str, Capture]]) -> Dict[str, Any]:
    """Return captures as a trace: a process for each, and in it a thread for each compile.

    Times are in microseconds since the capture began.
    """
    events: List[Dict[str, Any]] = []
    names: List[Dict[str, Any]] = []
    for number, (name, capture) in enumerate(captures):
        pid = capture.rank if capture.rank is not None else number
        if any(event["pid"] == pid for event in names):
            pid = 1000 + number  # another process of the same rank
        title = name or (f"rank {capture.rank}" if capture.rank is not None else "torch.compile")
        names.append(_named("process_name", pid, 0, title))
        tids: Dict[Tuple[str, int], int] = {}
        for event, thread in _events(capture, pid):
            which = (event["args"]["compile"], thread)
            if which not in tids:
                tids[which] = len(tids) + 1
                text = event["args"]["frame"] + (f", thread {thread}" if thread else "")
                names.append(_named("thread_name", pid, tids[which], text))
            events.append({**event, "tid": tids[which]})
    return {"traceEvents": [*events, *names], "displayTimeUnit": "ms"}


def _events(capture: Capture, pid: int) -> Iterator[Tuple[Dict[str, Any], int]]:
    places = places_of(capture)
    for bar in bars_of(capture):
        place = places.get(bar.key)
        phase = phase_of(bar.name)
        args = {
            "compile": bar.key,
            "frame": who(bar.key, places),
            "line": "" if place is None else f"{place.file}:{place.line}",
            "what": "" if phase is None else f"{phase.owner} {phase.does}",
        }
        if bar.about:
            args["about"] = bar.about
        yield (
            {
                "name": bar.name,
                "cat": "compile" if phase is None else phase.owner,
                "ph": "X",
                "ts": round(bar.start * 1e6, 3),
                "dur": round(bar.seconds * 1e6, 3),
                "pid": pid,
                "args": args,
            },
            bar.thread,
        )


def _named(kind: str, pid: int, tid: int, name: str) -> Dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}
