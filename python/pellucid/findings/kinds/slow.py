# SPDX-License-Identifier: Apache-2.0
"""Functions that take long to compile, and the phase that takes longest.

Restarts, autotuning, guards and CUDA graph recording get separate findings if they take long, since
each has a different remedy.
"""

from __future__ import annotations

import re

from pellucid.brief import counted
from pellucid.dump.model.breaks import accounts_of
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import CompileKey, Frame, Metrics, Place, Times
from pellucid.dump.model.failures import is_own
from pellucid.dump.model.names import is_resumed

from ..costs import seconds_of
from ..finding import Cost, Finding, identify
from ..kind import Kind
from ..parts import (
    GUARDS,
    KERNELS,
    RECORDING,
    Part,
    autotuning,
    largest,
    lost_attempts,
    part_of,
)
from ..source import Program, root_of

_LONG = 30.0
"""The number of seconds from which a function is reported, over all compiles of its versions."""
_BACKEND = "backend_compile_time"
_BLOCK = "if the model repeats a block, compile the block instead of the model (block.compile())"


def slow(capture: Capture, program: Program) -> list[Finding]:
    """Find functions that take long to compile."""
    frames = {frame.key: frame for frame in capture.of(Frame)}
    groups: dict[tuple[str, str], list[Times]] = {}
    for times in capture.times:
        frame = frames.get(times.key)
        if frame is not None:
            groups.setdefault((frame.place.file, root_of(frame)), []).append(times)
    result = []
    for (_file, name), times_of in groups.items():
        of_group = list(dict.fromkeys(times.key for times in times_of))
        place = _start(program, frames, of_group)
        result += _causes(capture, program, place, name, of_group)
        parts = {"tracing": 0.0, "backend": 0.0}
        for times in times_of:
            whole = seconds_of(times)
            backend = whole if times.backward else times.seconds.get(_BACKEND, 0.0)
            parts["backend"] += min(backend, whole)
            parts["tracing"] += max(0.0, whole - backend)
        seconds = sum(parts.values())
        if seconds >= _LONG:
            mostly = max(parts, key=lambda part: parts[part])
            of = _listed(capture, of_group, seconds)
            keys = list(map(str, of_group))
            result.append(_finding(program, place, name, mostly, seconds, keys, of))
    return result


def _start(program: Program, frames: dict[CompileKey, Frame], keys: list[CompileKey]) -> Place:
    of_root = [frames[key] for key in keys if not is_resumed(frames[key].place.function)]
    return program.start((of_root or [frames[keys[0]]])[0].place)


def _listed(capture: Capture, keys: list[CompileKey], whole: float) -> str:
    """Return the phases worth naming, in words; empty if none is large enough."""
    parts = [
        ("discarded attempts", lost_attempts(capture, keys).seconds),
        ("autotuning", autotuning(capture, keys).seconds),
        ("building guards", part_of(capture, keys, GUARDS).seconds),
        ("compiling kernels", part_of(capture, keys, KERNELS).seconds),
    ]
    return largest(parts, whole)


_LOST, _TUNED, _GUARDED, _RECORDED = 5.0, 10.0, 5.0, 8
"""The thresholds of the separate findings: seconds, and a number of recordings."""
_TOLD = 3


def _causes(
    capture: Capture, program: Program, place: Place, name: str, keys: list[CompileKey]
) -> list[Finding]:
    """Find the causes that have a separate remedy, for one function."""
    found: list[Finding] = []
    metrics = [event.values for key in keys for event in capture.of(Metrics, key)]

    def add(what: str, part: Part, cause: str, remedy: str, quoted: str = "") -> None:
        found.append(
            Finding(
                id=identify("slow", place if is_own(place.file) else None, f"{name}:{what}"),
                kind="slow",
                place=place,
                code=program.code(place),
                cause=cause,
                remedy=remedy,
                quoted=quoted,
                cost=Cost(round(part.seconds, 3)),
                count=len(part.spans),
                keys=tuple(map(str, part.keys)),
                caused=tuple(map(str, part.keys)),
            )
        )

    lost = lost_attempts(capture, keys)
    if lost.seconds >= _LOST:
        reasons = [r for values in metrics for r in values.get("restart_reasons") or ()]
        listed = "; ".join(dict.fromkeys(map(_reason, reasons))) or "torch gives no reason"
        cause = f"`{name}` was retraced {len(lost.spans)} times: {listed}"
        add("restarts", lost, cause, _RESTARTED, "\n".join(dict.fromkeys(reasons)))
    tuned = autotuning(capture, keys)
    if tuned.seconds >= _TUNED:
        said = sorted((s for s in tuned.spans if s.about), key=lambda span: -span.seconds)
        quoted = "\n".join(f"{span.name}: {span.about}" for span in said)
        most = "; ".join(span.about for span in said[:_TOLD])
        cause = f"autotuning for `{name}` measured candidates {len(tuned.spans)} times"
        add("autotuning", tuned, cause + (f"; most for {most}" if most else ""), _MEASURED, quoted)
    guarded = part_of(capture, keys, GUARDS)
    if guarded.seconds >= _GUARDED:
        count = max((_count(values.get("guard_count")) for values in metrics), default=0)
        cause = f"building the guards of `{name}` took long" + (
            f": {counted(count, 'guard')}" if count else ""
        )
        add("guards", guarded, cause, _GUARDED_BY)
    recorded = part_of(capture, keys, RECORDING)
    if len(recorded.spans) >= _RECORDED:
        cause = f"CUDA graphs of `{name}` were recorded {len(recorded.spans)} times"
        add("recorded", recorded, cause, _RECORDED_AGAIN)
    return found


def _reason(text: str) -> str:
    """Return torch's reason for a restart on one line: a break's name, or the class of a signal."""
    signal = _SIGNAL.fullmatch(text.strip())
    told = signal[1] if signal is not None else accounts_of(text)[0].kind or text
    return " ".join(told.split())


_SIGNAL = re.compile(r"<class '(?:\w+\.)*(\w+)'>")
_RESTARTED = (
    "each restart traces the frame from its beginning: break the graph on purpose before the code "
    "that cannot be traced (`torch._dynamo.graph_break()`), or move that code out of the compiled "
    "function"
)
_MEASURED = (
    "put TORCHINDUCTOR_CACHE_DIR on persistent storage to measure only once; mode='default' does "
    "not autotune, and fewer sizes mean fewer measurements (pad, or use dynamic=True)"
)
_GUARDED_BY = (
    "make the function read fewer objects, so that it has fewer guards: compile the repeated "
    "block, pass its inputs as arguments, and keep long lists and dictionaries out of it"
)
_RECORDED_AGAIN = (
    "a graph is recorded for each size: pad the inputs to a few sizes, or set "
    "torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True"
)


def _finding(
    program: Program,
    place: Place,
    name: str,
    mostly: str,
    seconds: float,
    keys: list[str],
    of: str,
) -> Finding:
    if mostly == "tracing":
        what = "in Dynamo, which traces the Python code"
        remedy = f"{_BLOCK}: it is traced once"
    else:
        what = "in the backend"
        remedy = (
            f"{_BLOCK}, and put TORCHINDUCTOR_CACHE_DIR on persistent storage so that later "
            "processes reuse the code"
        )
    versions = f" in {len(keys)} compiles" if len(keys) > 1 else ""
    return Finding(
        id=identify("slow", place if is_own(place.file) else None, name),
        kind="slow",
        place=place,
        code=program.code(place),
        cause=f"compiling `{name}` took {seconds:.0f} s{versions}, mostly {what}"
        + (f" ({of})" if of else ""),
        remedy=("fix the recompiles first; " if len(keys) > 2 else "") + remedy,
        sure="likely",
        keys=tuple(keys),
        caused=tuple(keys),
    )


def _count(value: object) -> int:
    """Return a count from a log; 0 if it is not a number."""
    return value if isinstance(value, int) else 0


KIND = Kind(
    "slow",
    rank=170,
    means="A function took long to compile.",
    words="slow compile",
    many="slow compiles",
    tone="warn",
    claim=50,  # only the time that no other finding explains
    is_compared=False,
    quotes_torch=False,
    find=slow,
)
