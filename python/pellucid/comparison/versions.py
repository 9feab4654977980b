# SPDX-License-Identifier: Apache-2.0
"""Comparison of one compiled version: its guards, graphs, kernels, and cache keys."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from dataclasses import replace
from typing import Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.dynamo_names import without_numbers
from pellucid.dump.model.events import CacheEntry, CacheUse, CompileKey, Graph, Guard
from pellucid.dump.model.names import scrub

from .change import Change, Line
from .functions import InFunction
from .graphs import graph_lines, kernel_lines

_ORDER = (
    "captured",
    "pre_insert_deferred_runtime_asserts",
    "before_pre_grad",
    "after_pre_grad",
    "before_joint_passes",
    "joint",
    "after_joint_passes",
    "forward",
    "backward",
    "inference",
    "before_post_grad",
    "after_post_grad",
    "inductor",
)
_SYMBOL = re.compile(r"\b[su]\d+\b")


def version_changes(
    one: Capture, two: Capture, first: InFunction, second: InFunction, explained: bool
) -> list[Change]:
    """Return the differences between two compiled versions.

    Args:
        one, two: the captures.
        first, second: the version in each.
        explained: whether a different setting or release can explain different cache keys.
    """
    guards, of_values = _guards(one, two, first, second)
    graph, follows = _graphs(one, two, first, second)
    keys = _keys(one, two, first.key, second.key)
    if keys and (graph or guards):
        follows.append(f"{len(keys)} part{_s(keys)} of cache keys")
    state = _state_of_process(guards)
    if state:
        # It affects everything that is compiled, and changes guards and graphs.
        follows[:0] = ["its guards and graphs"] if graph is not None else []
        words = "it is compiled for a different state of the process"
        return [Change("guard", second.label, words, tuple(state), tuple(follows))]
    if graph is not None and not of_values:
        # The guards on tensors follow from the inputs of the graph.
        follows[:0] = ["its guards"] if guards else []
        return [replace(graph, follows=tuple(follows))]
    if guards:
        lines, words = tuple(guards), "it is compiled for different values"
        if graph is not None:
            lines, words = (*lines, *graph.lines), f"{words}, and {graph.words}"
        beside = graph.beside if graph is not None else ()
        return [Change("guard", second.label, words, lines, tuple(follows), beside=beside)]
    if keys and not explained:
        words = "a compile cache was queried with a different key"
        return [Change("cache key", second.label, words, tuple(keys))]
    return []


def _s(items: Sequence[object]) -> str:
    return "" if len(items) == 1 else "s"


# -- guards ----------------------------------------------------------------------------------------


def _guards(
    one: Capture, two: Capture, first: InFunction, second: InFunction
) -> tuple[list[Line], bool]:
    """Return the guards that differ, and whether one of them checks more than shapes and types."""
    a, b = _entry(one, first.key), _entry(two, second.key)
    if a is None or b is None:
        return [], False  # a dropped version has no guards to compare
    counts = Counter(map(_guard, a.guards)), Counter(map(_guard, b.guards))
    lines, of_values = [], False
    for sign, entry, left in (("-", a, counts[0] - counts[1]), ("+", b, counts[1] - counts[0])):
        for guard in entry.guards:
            if left[_guard(guard)] > 0:
                left[_guard(guard)] -= 1
                of_values |= guard.kind not in _OF_TENSORS
                lines.append(Line(sign, " ".join(guard.text.split())))
    return lines, of_values


def _state_of_process(lines: Sequence[Line]) -> list[Line]:
    """Return the parts of the global state that differ, such as grad mode and autocast."""
    found: dict[str, dict[str, object]] = {"-": {}, "+": {}}
    for line in lines:
        head, _, state = line.text.partition(" against ")
        if head.startswith("___check_global_state"):
            with contextlib.suppress(ValueError, TypeError):
                found[line.sign] = dict(json.loads(state))
    one, two = found["-"], found["+"]
    if not one or not two:
        return []
    names = [name for name in one if one[name] != two.get(name)]
    return [
        Line(sign, f"{name}: {json.dumps(values.get(name))}")
        for name in names
        for sign, values in found.items()
    ]


_OF_TENSORS = ("TENSOR_MATCH", "SHAPE_ENV", "STORAGE_OVERLAPPING", "NO_TENSOR_ALIASING")


def _entry(capture: Capture, key: CompileKey) -> CacheEntry | None:
    for entries in capture.caches.values():
        for entry in entries:
            if entry.key == key:
                return entry
    return None


_PATH = re.compile(r"(?<![\w.])/[^\s'\":,()]*/")


def _guard(guard: Guard) -> object:
    text = _PATH.sub("", scrub(without_numbers(guard.text)))
    return guard.kind, _SYMBOL.sub("s", text)


# -- graphs and kernels ----------------------------------------------------------------------------


def _graphs(
    one: Capture, two: Capture, first: InFunction, second: InFunction
) -> tuple[Change | None, list[str]]:
    """Return the first graph that differs, and the later differences."""
    a, b = _by_stage(one, first.key), _by_stage(two, second.key)
    if _has_hit(one, first.key) or _has_hit(two, second.key):
        # A cache hit skips the stages that produce these graphs.
        a = {stage: graphs for stage, graphs in a.items() if stage in b}
        b = {stage: graphs for stage, graphs in b.items() if stage in a}
    found: Change | None = None
    later: Counter[str] = Counter()
    for stage in sorted({*a, *b}, key=_rank):
        mine, theirs = a.get(stage, []), b.get(stage, [])
        is_program = stage.startswith("inductor")
        compared = kernel_lines if is_program else graph_lines
        told = [(m, t, compared(one, two, m, t)) for m, t in zip(mine, theirs)]
        lines = [line for _, _, found_lines in told for line in found_lines]
        lone = [("-", g) for g in mine[len(theirs) :]] + [("+", g) for g in theirs[len(mine) :]]
        lines += [Line(sign, f"a graph {stage}", graph.file, 1) for sign, graph in lone]
        if lines and found is not None:
            later["program" if is_program else "later graph"] += 1
        elif lines:
            what = "the kernels differ" if is_program else f"the {_named(stage)} graph differs"
            what = f"only one of them has a {_named(stage)} graph" if lone else what
            kind = "kernel" if is_program else "graph"
            beside = tuple((m.file, t.file) for m, t, other in told if other)
            found = Change(kind, second.label, what, tuple(lines), beside=beside)
    return found, [f"{n} {what}{'' if n == 1 else 's'}" for what, n in later.items()]


def _by_stage(capture: Capture, key: CompileKey) -> dict[str, list[Graph]]:
    found: dict[str, list[Graph]] = {}
    seen: set[str] = set()
    for graph in capture.of(Graph):
        if graph.key == key and graph.file not in seen:
            seen.add(graph.file)
            found.setdefault(graph.stage, []).append(graph)
    return found


def _rank(stage: str) -> tuple[int, int, str]:
    backward = stage.endswith("backward")
    for number, name in enumerate(_ORDER):
        if stage == name or stage.startswith(f"{name}_"):
            return number, backward, stage
    return 1, backward, stage  # a stage that torch does not define


def _named(stage: str) -> str:
    return stage.replace("_", " ")


def _has_hit(capture: Capture, key: CompileKey) -> bool:
    return any(use.key == key and use.result == "hit" for use in capture.of(CacheUse))


# # -- cache keys
# ------------------------------------------------------------------------------------


def _keys(one: Capture, two: Capture, first: CompileKey, second: CompileKey) -> list[Line]:
    """Return the parts of cache keys that differ."""
    a, b = _uses(one, first), _uses(two, second)
    lines: list[Line] = []
    for cache in a:
        for mine, theirs in zip(a[cache], b.get(cache, [])):
            if mine.cache_key == theirs.cache_key:
                continue
            counts = Counter(mine.components), Counter(theirs.components)
            lines += [Line("-", _component(c)) for c in counts[0] - counts[1]]
            lines += [Line("+", _component(c)) for c in counts[1] - counts[0]]
    return lines


def _uses(capture: Capture, key: CompileKey) -> dict[str, list[CacheUse]]:
    found: dict[str, list[CacheUse]] = {}
    for use in capture.of(CacheUse):
        if use.key == key and use.cache_key:
            found.setdefault(use.cache, []).append(use)
    return found


def _component(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 160 else f"{text[:157]}…"
