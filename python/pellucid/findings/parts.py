# SPDX-License-Identifier: Apache-2.0
"""The time that some phases of compiling one function took."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Collection, Iterator, Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import CompileKey, Span
from pellucid.dump.model.phases import AUTOTUNING

ATTEMPT = re.compile(r"^compile_attempt_\d+$")
GUARDS = re.compile(r"^build_guards$")
RECORDING = re.compile(r"^CUDAGraphNode\.record$")
KERNELS = re.compile(r"^(?:async_compile\.wait|compile_file|triton_codecache|async_compile\..*)$")


@dataclass(frozen=True)
class Part:
    """One phase of the work: all of its spans."""

    spans: tuple[Span, ...]

    @property
    def seconds(self) -> float:
        """Return the total duration."""
        return sum(span.seconds for span in self.spans)

    @property
    def keys(self) -> tuple[CompileKey, ...]:
        """Return the compiles concerned."""
        return tuple(dict.fromkeys(span.key for span in self.spans))


def part_of(capture: Capture, keys: Collection[CompileKey], name: re.Pattern[str]) -> Part:
    """Return the spans with a name in some compiles; spans nested in such a span are part of it.

    Args:
        capture: the capture.
        keys: the compiles.
        name: torch's name of the phase.
    """
    spans = (s for key in dict.fromkeys(keys) for s in capture.spans_by_key.get(key, ()))
    return Part(tuple(_outermost(s for s in spans if name.search(s.name))))


def _outermost(spans: Iterator[Span]) -> Iterator[Span]:
    end: dict[int, float] = {}
    for span in sorted(spans, key=lambda s: (s.thread, s.start, -s.seconds)):
        if span.start >= end.get(span.thread, 0.0) - 1e-9:
            end[span.thread] = span.start + span.seconds
            yield span


def autotuning(capture: Capture, keys: Collection[CompileKey]) -> Part:
    """Return the spans that measured candidate kernels."""
    return part_of(capture, keys, AUTOTUNING)


def lost_attempts(capture: Capture, keys: Collection[CompileKey]) -> Part:
    """Return the discarded attempts to trace a frame: all but the last of each frame."""
    spans: dict[CompileKey, list[Span]] = {}
    for span in part_of(capture, keys, ATTEMPT).spans:
        spans.setdefault(span.key, []).append(span)
    return Part(tuple(span for found in spans.values() for span in found[:-1]))


def largest(parts: Sequence[tuple[str, float]], whole: float) -> str:
    """Return the phases that took at least a tenth of the whole, in words, the largest first.

    >>> largest([("guards", 2.0), ("autotuning", 60.0), ("restarts", 20.0)], 100.0)
    '60 s autotuning, 20 s restarts'
    """
    told = sorted((p for p in parts if p[1] >= whole / 10), key=lambda part: -part[1])
    return ", ".join(f"{seconds:.0f} s {name}" for name, seconds in told)
