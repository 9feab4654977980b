# SPDX-License-Identifier: Apache-2.0
"""Functions whose compile takes long, and which part of it does."""

from __future__ import annotations

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import Frame, Place, Times
from pellucid.torch.model.failures import is_own
from pellucid.torch.model.names import is_resumed

from .finding import Cost, Finding, identify
from .source import Program, root_of

_LONG = 30.0
"""So many seconds of one function are told; all compiles of its versions count."""
_WHOLE, _BACKEND = "entire_frame_compile_time", "backend_compile_time"
_BLOCK = "where one block repeats, compile the block instead of the model (block.compile())"


def slow(capture: Capture, program: Program) -> list[Finding]:
    """Find functions that take long to compile."""
    frames = {frame.key: frame for frame in capture.of(Frame)}
    groups: dict[tuple[str, str], list[Times]] = {}
    for times in capture.times:
        frame = frames.get(times.key)
        if frame is not None:
            groups.setdefault((frame.place.file, root_of(capture, frame)), []).append(times)
    result = []
    for (_file, name), times_of in groups.items():
        parts = {"tracing": 0.0, "backend": 0.0}
        for times in times_of:
            whole = times.seconds.get("duration" if times.backward else _WHOLE, 0.0)
            backend = whole if times.backward else times.seconds.get(_BACKEND, 0.0)
            parts["backend"] += min(backend, whole)
            parts["tracing"] += max(0.0, whole - backend)
        seconds = sum(parts.values())
        if seconds >= _LONG:
            keys = list(dict.fromkeys(times.key for times in times_of))
            of_root = [frames[key] for key in keys if not is_resumed(frames[key].place.function)]
            place = program.start((of_root or [frames[keys[0]]])[0].place)
            mostly = max(parts, key=lambda part: parts[part])
            result.append(_finding(program, place, name, mostly, seconds, list(map(str, keys))))
    return result


def _finding(
    program: Program, place: Place, name: str, mostly: str, seconds: float, keys: list[str]
) -> Finding:
    if mostly == "tracing":
        what = "most of it is Dynamo's, which traces the Python code"
        remedy = f"{_BLOCK}: it is traced once"
    else:
        what = "most of it is the backend's, which makes the graphs of both passes and their code"
        remedy = (
            f"{_BLOCK}, and keep TORCHINDUCTOR_CACHE_DIR on a disk that stays, so that the next "
            "process finds the code"
        )
    versions = f" in {len(keys)} compiles" if len(keys) > 1 else ""
    return Finding(
        id=identify("slow", place if is_own(place.file) else None, name),
        kind="slow",
        place=place,
        code=program.code(place),
        cause=f"compiling `{name}`{versions} takes long: {what}",
        remedy=("end the recompiles first; " if len(keys) > 2 else "") + remedy,
        sure="likely",
        cost=Cost(round(seconds, 3)),
        keys=tuple(keys),
    )
