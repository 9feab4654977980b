# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs that Inductor skipped."""

from __future__ import annotations

import re

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Metrics, Place

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program

_REMEDIES = {
    "input storage mutation": "do not replace an input's memory (`set_`) inside the compiled "
    "function",
    "mutated inputs": "write into a clone, or copy the input into your own buffer before "
    "the compiled call",
    "cpu device": "move that tensor to the GPU before the call",
    "multiple devices": "keep all tensors of the compiled function on one GPU",
    "incompatible op": "keep that operation out of the compiled function",
    "symbolic shapes": "compile with dynamic=False, or mark the sizes that do not change",
    "dynamic shape": "compile with dynamic=False, or mark the sizes that do not change",
    "caching allocator": "leave PyTorch's caching allocator switched on",
}
_CALL = re.compile(r'File "([^"\n]+)", line (\d+), in (\S+)')
_FOUND_FROM = re.compile(r"\.?\s*Found from\b")


def cudagraphs(capture: Capture, program: Program) -> list[Finding]:
    """Find graphs that run without CUDA graphs."""
    groups: dict[tuple[str, Place | None], list[Metrics]] = {}
    for event in capture.of(Metrics):
        reason = str(event.values.get("cudagraph_skip_reason") or "")
        if reason:
            groups.setdefault((reason, place_in(program, reason)), []).append(event)
    return [
        Finding(
            id=identify("cudagraph", place, " ".join(reason.split()[:4])),
            kind="cudagraph",
            place=place,
            code=program.code(place),
            cause=f"no CUDA graph was recorded: {' '.join(_FOUND_FROM.split(reason)[0].split())}",
            quoted=reason,
            remedy=next((text for word, text in _REMEDIES.items() if word in reason.lower()), ""),
            count=len(events),
            keys=tuple(str(event.key) for event in events),
        )
        for (reason, place), events in groups.items()
    ]


def place_in(program: Program, reason: str) -> Place | None:
    """Return the user's line named in one of torch's reasons; None if it names none."""
    calls = [Place(file, int(line), name) for file, line, name in _CALL.findall(reason)]
    return program.own(calls)


KIND = Kind(
    "cudagraph",
    rank=160,
    means="A graph runs without a CUDA graph.",
    words="CUDA graph skipped",
    many="CUDA graphs skipped",
    tone="warn",
    find=cudagraphs,
)
