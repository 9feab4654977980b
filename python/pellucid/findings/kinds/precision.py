# SPDX-License-Identifier: Apache-2.0
"""Results that differ from eager because Inductor keeps a higher precision."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Graph, Place

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program

_HALF = ("bfloat16", "float16", "bf16", "f16", "half")
_EMULATED = "torch._inductor.config.emulate_precision_casts"


def precision(capture: Capture, program: Program) -> list[Finding]:
    """Find chains of half-precision operations: Inductor rounds once, eager after each."""
    if capture.configuration.get(_EMULATED) == "True":
        return []
    compiled = {graph.key for graph in capture.of(Graph) if graph.is_program}
    chains: dict[Place | None, list[str]] = {}
    for graph in capture.of(Graph):
        if graph.stage != "captured" or graph.key not in compiled:
            continue
        half = {
            n.name: n
            for n in capture.nodes(graph.file)
            if n.op.startswith("call") and any(word in n.dtype for word in _HALF)
        }
        for node in half.values():
            if any(name in half for name in node.args):
                chains.setdefault(node.place, []).append(str(graph.key))
    if not chains:
        return []
    place = list(chains)[-1]
    return [
        Finding(
            id=identify("precision", place),
            kind="precision",
            place=place,
            code=program.code(place),
            cause="results differ from eager in the last digits of bfloat16/float16: Inductor "
            "keeps float32 between "
            "operations that it fuses, where eager rounds after each",
            remedy="no change needed: the compiled result is the more accurate one. To get "
            f"eager's rounding, set {_EMULATED} "
            f"= True",
            sure="likely",
            count=len(chains),
            keys=tuple(dict.fromkeys(key for keys in chains.values() for key in keys)),
        )
    ]


KIND = Kind(
    "precision",
    rank=200,
    means="Compiled code rounds differently from eager.",
    words="note on precision",
    many="notes on precision",
    tone="note",
    find=precision,
)
