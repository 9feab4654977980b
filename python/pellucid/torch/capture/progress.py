# SPDX-License-Identifier: Apache-2.0
"""The progress line: rank, frame, phase, and the user's line.

It is driven by the events of torch's trace, which arrive in the compiling thread.  During a compile
a thread of ours wakes up regularly to also report a phase that does not end, with its duration and
the current user line.  That thread ends with the compile.

On a terminal, one line is overwritten; otherwise each phase gets a line, at most one per
:data:`_APART` seconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, TextIO

from pellucid.dump.model.events import Place
from pellucid.dump.model.names import label
from pellucid.dump.model.phases import describe

from ..taps import hooks, now
from ..taps.trace import TraceRecord
from .spans import EVENT, event_of

PROGRESS = "PELLUCID_PROGRESS"
"""The environment variable that enables the line."""
_APART = 1.0
"""The minimum number of seconds between two lines that are not overwritten."""
_FRAMES_A_SECOND = 5
_LONG = 5.0
"""The seconds after which a phase is reported again, and the end of a compile is reported."""
_AGAIN = 60.0
"""The longest time, in seconds, until an unfinished phase is reported again."""
_START = "dynamo_start"
_END = ("compilation_metrics", "bwd_compilation_metrics")
# Older releases do not report the start and end of phases; other events show the progress.
_STEPS = {
    _START: "bytecode_tracing",
    "dynamo_output_graph": "backend_compile",
    "aot_joint_graph": "min_cut_rematerialization_partition",
    "aot_forward_graph": "fx_codegen_and_compile",
    "aot_inference_graph": "fx_codegen_and_compile",
    "inductor_post_grad_graph": "GraphLowering.run",
    "inductor_output_code": "PyCodeCache.load_by_key_path",
}
WANTED = frozenset([EVENT, *_STEPS, *_END])
"""The trace events that are needed."""


def wants_progress() -> bool:
    """Return true if the environment enables the line."""
    return os.environ.get(PROGRESS, "") not in ("", "0")


@dataclass
class _Work:
    """The compile of one thread."""

    thread: int
    began: float
    parts: list[tuple[str, float, str | None]] = field(default_factory=list)
    """The open phases, the innermost last: name, start, compile id."""
    has_parts: bool = False
    """Whether this torch reports the start and end of phases."""
    changed: float = 0.0
    """The time of the last phase change."""
    told: str = ""
    """The last phase that was reported."""
    next: float = 0.0
    """The time at which to report the phase again."""

    @property
    def compile_id(self) -> str | None:
        return next((part[2] for part in reversed(self.parts) if part[2] is not None), None)

    @property
    def phase(self) -> str:
        return describe(tuple(part[0] for part in self.parts))


class Progress:
    """The line of one process.

    Args:
        stream: the output stream; None means the current ``sys.stderr``.
        rewrites: whether to overwrite the line; None means if the stream is a terminal.
        clock: returns the time in seconds.
        ticks: whether to start a thread; otherwise call :meth:`tick` instead.
        look: finds a thread's current place in the program.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        rewrites: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
        ticks: bool = True,
        look: Callable[[int], now.Doing | None] = now.doing,
    ) -> None:
        self._stream, self._rewrites, self._clock, self._ticks = stream, rewrites, clock, ticks
        self._look = look
        self._works: dict[int, _Work] = {}
        self._places: dict[str, Place] = {}
        self._written = -_APART
        self._shown = ""
        self._forget()

    def _forget(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._ticker: threading.Thread | None = None

    def forked(self) -> None:
        """Reset in a forked child, where neither the parent's compiles nor its thread exist."""
        self._works, self._shown = {}, ""
        self._forget()

    def close(self) -> None:
        """Stop; erase the line on a terminal."""
        with self._changed:
            self._works.clear()
            self._erase()
            self._changed.notify_all()
            ticker = self._ticker
        if ticker is not None and ticker is not threading.current_thread():
            ticker.join(1)

    def take(self, record: TraceRecord, place: Callable[[Any], Place | None]) -> None:
        """Handle a trace event, in the compiling thread.

        Args:
            record: the event.
            place: reads the place from the data of an event that starts a compile.
        """
        if record.kind not in WANTED:
            return
        thread = threading.get_ident()
        with self._changed:
            if record.kind == _START and record.compile_id is not None:
                found = place(record.data)
                if found is not None:
                    self._places[record.compile_id] = found
            is_new = thread not in self._works
            work = self._works.get(thread) or _Work(thread, self._clock())
            self._apply(work, record)
            if not work.parts:
                if self._works.pop(thread, None) is not None:
                    self._ended(work, record.compile_id)
                return
            self._works[thread] = work
            if self._has_begun(work, record) and self._may_write():
                self._tell(work)
            if is_new:
                self._start_ticker()

    def _apply(self, work: _Work, record: TraceRecord) -> None:
        at = self._clock()
        name, begins = "", True
        if record.kind == EVENT:
            event = event_of(record.data if record.payload is None else record.payload)
            if event is None or event[1] not in "BE":
                return
            name, begins = event[0], event[1] == "B"
            if begins and not work.parts and record.compile_id is None:
                return  # one from a helper thread
            work.has_parts = True
        elif record.kind in _END:
            if not work.has_parts:
                work.parts.clear()
            return
        elif not work.has_parts:
            if record.kind != _START and not work.parts:
                return  # before torch 2.5, its end is not reported
            work.parts.clear()
            name = _STEPS[record.kind]
        if begins and name:
            work.parts.append((name, at, record.compile_id))
        elif name and any(part[0] == name for part in work.parts):
            while work.parts.pop()[0] != name:
                pass  # phases ended by an exception have no end event
        work.changed = at
        work.next = at + _LONG

    # -- writing, with the lock held --

    def _has_begun(self, work: _Work, record: TraceRecord) -> bool:
        """Return true if an event starts a phase; a phase that resumes is reported later."""
        is_end = record.kind == EVENT and not (work.parts and work.changed == work.parts[-1][1])
        return work.compile_id in self._places and not is_end

    def _may_write(self) -> bool:
        apart = 1 / _FRAMES_A_SECOND if self._is_rewritten() else _APART
        return self._clock() - self._written >= apart

    def _tell(self, work: _Work) -> None:
        phase = work.phase
        at = self._clock()
        seconds = at - work.changed
        if not self._is_rewritten() and phase == work.told and at < work.next:
            return
        if phase == work.told:
            work.next = at + min(max(seconds, _LONG), _AGAIN)
        work.told = phase
        text = f"{self._who(work.compile_id)}: {phase}"
        if self._is_rewritten():
            text += f", {at - work.began:.0f} s" if at - work.began >= 1 else ""
        if seconds >= _LONG:
            text += f" for {seconds:.0f} s"
        self._write(text + (self._where(work) if seconds >= _APART else ""))

    def _where(self, work: _Work) -> str:
        """Return the current user line of the compile."""
        found = self._look(work.thread)
        if found is None:
            return ""
        at = self._at(found.place)
        return f", in {found.place.function} ({at})" if found.runs else f", at {at}"

    def _ended(self, work: _Work, compile_id: str | None) -> None:
        seconds = self._clock() - work.began
        self._erase()
        if seconds >= _LONG and not self._is_rewritten():
            self._write(f"{self._who(compile_id)}: done after {seconds:.0f} s")
        if not self._works:
            self._changed.notify_all()

    def _who(self, compile_id: str | None) -> str:
        place = self._places.get(compile_id or "")
        rank, size = hooks.place_in_job()
        text = f"rank {rank}: " if (size or 1) > 1 else ""
        text += f"[{compile_id}]" if compile_id else ""
        if place is not None:
            text += f" {label(place.function)} ({self._at(place)})"
        return text.strip()

    def _at(self, place: Place) -> str:
        """Return a place, shortened on a terminal."""
        return (
            f"{os.path.basename(place.file)}:{place.line}" if self._is_rewritten() else f"{place}"
        )

    def _write(self, text: str) -> None:
        stream = self._out()
        line = f"pellucid: {text}"
        if self._is_rewritten():
            width = shutil.get_terminal_size().columns - 1
            if self._shown == line:
                return
            self._shown = line
            line = f"\r\x1b[K{line if len(line) <= width else line[: width - 1] + '…'}"
        else:
            line += "\n"
        # A closed stream must not break the compile.
        with contextlib.suppress(Exception):
            if stream is not None:
                stream.write(line)
                stream.flush()
        self._written = self._clock()

    def _erase(self) -> None:
        stream = self._out()
        if self._shown and self._is_rewritten() and stream is not None:
            with contextlib.suppress(Exception):
                stream.write("\r\x1b[K")
                stream.flush()
        self._shown = ""

    def _out(self) -> TextIO | None:
        return sys.stderr if self._stream is None else self._stream

    def _is_rewritten(self) -> bool:
        if self._rewrites is None:
            _, size = hooks.place_in_job()
            with contextlib.suppress(Exception):
                stream = self._out()
                on_terminal = stream is not None and stream.isatty()
                dumb = os.environ.get("TERM", "") in ("", "dumb")
                # Ranks that share a terminal would overwrite each other's lines.
                return on_terminal and not dumb and (size or 1) == 1
            return False
        return self._rewrites

    # -- the thread that wakes up --

    def _start_ticker(self) -> None:
        if self._ticker is None and self._ticks:
            self._ticker = threading.Thread(target=self._run, name="pellucid progress", daemon=True)
            self._ticker.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._works:
                    self._ticker = None
                    return
                self._changed.wait(1 / _FRAMES_A_SECOND if self._is_rewritten() else _APART / 2)
            self.tick()

    def tick(self) -> None:
        """Report the current phases, if a report is due."""
        with self._changed:
            for work in list(self._works.values()):
                if self._ticks and not now.is_alive(work.thread):
                    del self._works[work.thread]  # it ended without an event
                elif self._may_write():
                    self._tell(work)
