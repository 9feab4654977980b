# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs that Inductor did not make."""

from __future__ import annotations

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import Metrics

from .finding import Finding, identify
from .source import Program

_REMEDIES = {
    "mutated inputs": "write into a clone, or copy the input into a buffer of your own before "
    "the compiled call",
    "cpu device": "move that tensor to the GPU before the call",
    "incompatible op": "keep that operation out of the compiled function",
    "dynamic shape": "compile with dynamic=False, or mark the sizes that do not change",
}


def cudagraphs(capture: Capture, program: Program) -> list[Finding]:
    """Find why graphs run without CUDA graphs."""
    groups: dict[str, list[Metrics]] = {}
    for event in capture.of(Metrics):
        reason = str(event.values.get("cudagraph_skip_reason") or "")
        if reason:
            groups.setdefault(reason, []).append(event)
    return [
        Finding(
            id=identify("cudagraph", None, " ".join(reason.split()[:4])),
            kind="cudagraph",
            place=None,
            code="",
            cause=f"no CUDA graph was made: {' '.join(reason.split())}",
            quoted=reason,
            remedy=next((text for word, text in _REMEDIES.items() if word in reason.lower()), ""),
            count=len(events),
            keys=tuple(str(event.key) for event in events),
        )
        for reason, events in groups.items()
    ]
