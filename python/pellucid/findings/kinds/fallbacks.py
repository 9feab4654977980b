# SPDX-License-Identifier: Apache-2.0
"""Operations without Inductor code: they call eager kernels and do not fuse."""

from __future__ import annotations

import re

from pellucid.brief import counted
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import ExternCall, Frame, Graph, Place
from pellucid.dump.model.nodes import Node

from ..finding import Finding, Line, identify
from ..kind import Kind
from ..source import Program
from ..words import named

_ATEN = re.compile(r"torch\.ops\.aten\.(?P<name>\w+)")
# For these a library kernel is the intended choice, and views cost nothing.
_WANTED = re.compile(r"attention|convolution|_?cudnn|mkldnn|^view_as_|^set_|rng|^rand")
_NAMED = 5


def fallbacks(capture: Capture, program: Program) -> list[Finding]:
    """Find the calls of eager kernels in Inductor's programs."""
    groups: dict[bool, list[tuple[ExternCall, str, Place | None]]] = {}
    for event in capture.of(ExternCall):
        found = _ATEN.match(event.name)
        if found is not None and not _WANTED.search(found["name"]):
            nodes = _nodes(capture, event)
            place = program.own([node.place for node in nodes if node.place is not None])
            groups.setdefault(_is_complex(capture, event, nodes), []).append(
                (event, found["name"], place)
            )
    return [_finding(capture, program, kind, calls) for kind, calls in groups.items()]


def _nodes(capture: Capture, event: ExternCall) -> list[Node]:
    """Return the nodes that a call computes, from the graph closest to the user's code."""
    names = event.exact or event.nodes
    for graph in reversed(capture.of(Graph, event.key)):
        table = capture.nodes_by_name(graph.file) if not graph.is_program else {}
        found = [table[name] for name in names if name in table]
        if found:
            return found
    return []


def _is_complex(capture: Capture, event: ExternCall, nodes: list[Node]) -> bool:
    if any("complex" in node.dtype for node in nodes):
        return True
    args = {arg for node in nodes for arg in node.args}
    for graph in capture.of(Graph, event.key):
        table = capture.nodes_by_name(graph.file) if not graph.is_program else {}
        if any(arg in table and "complex" in table[arg].dtype for arg in args):
            return True
    return False


def _finding(
    capture: Capture,
    program: Program,
    of_complex: bool,
    calls: list[tuple[ExternCall, str, Place | None]],
) -> Finding:
    names = list(dict.fromkeys(name for _, name, _ in calls))
    places = list(dict.fromkeys(place for _, _, place in calls if place is not None))
    frames = {frame.key: frame.place for frame in capture.of(Frame)}
    place = places[0] if places else frames.get(calls[0][0].key)
    runs = "runs eager's kernel" if len(calls) == 1 else "run eager's kernels"
    cause = f"{counted(len(calls), 'operation')} ({named(names, _NAMED)}) {runs}, without fusion: "
    if of_complex:
        cause += "Inductor generates no code for complex numbers"
        remedy = (
            "compute with torch.view_as_real(x), or keep real and imaginary parts in separate "
            "tensors"
        )
    else:
        cause += "Inductor generates no code for " + ("it" if len(names) == 1 else "them")
        remedy = "no change needed"
    return Finding(
        id=identify("fallback", place, "complex" if of_complex else "kernel"),
        kind="fallback",
        place=place,
        code=program.code(place),
        cause=cause,
        remedy=remedy,
        count=len(calls),
        keys=tuple(dict.fromkeys(str(event.key) for event, _, _ in calls)),
        lines=tuple(Line(at, program.code(at)) for at in places) if len(places) > 1 else (),
    )


KIND = Kind(
    "fallback",
    rank=190,
    means="Inductor calls eager kernels for some operations.",
    words="note on kernels",
    many="notes on kernels",
    tone="note",
    find=fallbacks,
)
