# SPDX-License-Identifier: Apache-2.0
"""Forward graphs that save a lot of memory for their backward graphs."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Place, Saved, SavedTensor
from pellucid.dump.model.memory import size_in_words

from ..finding import Finding, Link, identify
from ..kind import Kind
from ..source import Program

_LARGE = 64 * 2**20
"""The number of saved bytes from which a graph is reported, if it is also …"""
_TIMES = 2
"""… this many times the size of the graph's parameters and inputs."""
_BUDGET = "torch._functorch.config.activation_memory_budget"


def memory(capture: Capture, program: Program) -> list[Finding]:
    """Find graphs that save several times the size of their parameters for the backward pass."""
    largest: dict[tuple[str, int], Saved] = {}
    groups: dict[tuple[str, int], list[str]] = {}
    for saved in capture.of(Saved):
        if saved.extra >= _LARGE and saved.extra >= _TIMES * saved.given:
            where = _dearest(saved)[0]
            place = ("", 0) if where is None else (where.file, where.line)
            groups.setdefault(place, []).append(str(saved.key))
            if place not in largest or saved.extra > largest[place].extra:
                largest[place] = saved
    return [
        _finding(capture, program, largest[place], list(dict.fromkeys(keys)))
        for place, keys in groups.items()
    ]


def _dearest(saved: Saved) -> tuple[Place | None, list[SavedTensor]]:
    """Return the line that saves the most, and the tensors it saves, the largest first."""
    lines: dict[Place | None, list[SavedTensor]] = {}
    for tensor in saved.tensors:
        if tensor.is_extra:
            lines.setdefault(tensor.place, []).append(tensor)
    place = max(lines, key=lambda line: sum(tensor.bytes for tensor in lines[line]))
    return place, sorted(lines[place], key=lambda tensor: -tensor.bytes)


def _finding(capture: Capture, program: Program, saved: Saved, keys: list[str]) -> Finding:
    place, tensors = _dearest(saved)
    share = size_in_words(sum(tensor.bytes for tensor in tensors))
    first = tensors[0]
    times = saved.extra / saved.given if saved.given else 0.0
    against = f", {times:.0f} times its parameters and inputs" if times else ""
    line = capture.nodes_by_name(saved.forward).get(first.name)
    return Finding(
        id=identify("memory", place),
        kind="memory",
        place=place,
        code=program.code(place),
        cause=f"the forward pass keeps {size_in_words(saved.extra)} for the backward pass{against};"
        f" most of it, {share}, at this line: `{first.name}` ({first.type}, "
        f"{size_in_words(first.bytes)}): {first.why}",
        remedy=f"recompute part of it in the backward pass: wrap it in "
        f"`torch.utils.checkpoint.checkpoint(part, …, use_reentrant=False)`, or set "
        f"`{_BUDGET}` to less than 1.0 and let torch choose; both trade time for memory",
        sure="likely",
        keys=tuple(keys),
        links=(
            Link(saved.forward, 0 if line is None else line.line, "the graph that saves it"),
            Link(saved.backward, 0, "the graph that uses it"),
        ),
    )


KIND = Kind(
    "memory",
    rank=180,
    means="A forward pass keeps a lot of memory for its backward pass.",
    words="high activation memory",
    many="cases of high activation memory",
    tone="warn",
    find=memory,
)
