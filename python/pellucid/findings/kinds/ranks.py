# SPDX-License-Identifier: Apache-2.0
"""Ranks of a job that compile different code, and the first difference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import (
    Break,
    CacheUse,
    Collectives,
    CompileKey,
    Frame,
    Graph,
    Place,
    RankMismatch,
    Recompile,
    Skipped,
    Started,
)
from pellucid.dump.model.failures import is_own
from pellucid.dump.model.names import scrub

from ..finding import Finding, Link, identify
from ..kind import Kind
from ..source import Program
from ..words import difference

_OF_ONE_PROCESS = re.compile(r"\b(?:cuda|cpu|xpu|hpu):\d+\b|rank[_:]?\d+", re.IGNORECASE)
_MOST = 4
_FOLDER = re.compile(r"""['"]?(?:/|[A-Za-z]:\\)""")
_TAIL = re.compile(r";  (?:\w+ = )+None\s*$")
_REMEDY = (
    "make the cause of this difference the same on all ranks: while one rank compiles, the others "
    "wait, and collectives in a different order hang"
)


@dataclass(frozen=True)
class Step:
    """One step of a capture: the key to compare, and the words to show."""

    key: object
    words: str
    place: Place | None
    keys: tuple[str, ...] = ()
    graph: Graph | None = None


@dataclass(frozen=True)
class Parting:
    """The first difference between two captures."""

    cause: str
    place: Place | None
    quoted: str = ""
    keys: tuple[str, ...] = ()


def ranks(captures: Sequence[Capture]) -> list[Finding]:
    """Find the ranks of a job that compile something different from most."""
    known = [capture for capture in captures if capture.rank is not None and not capture.process]
    if len(known) < 2:
        return []
    groups = _grouped(known)
    if len(groups) < 2:
        return []
    usual, *others = sorted(groups, key=lambda group: (-len(group), group[0].rank))
    if len(groups) == len(known):
        others = others[:1]  # all ranks differ from each other, so none is the odd one out
    found = []
    for group in others[:_MOST]:
        parting = parting_of(usual[0], group[0], _names(usual), _names(group))
        if parting is not None:
            found.append(_finding(usual, group, parting))
    return found


def parting_of(usual: Capture, other: Capture, a: str, b: str) -> Parting | None:
    """Return the first thing that differs in ``other``; None if nothing does.

    ``a`` and ``b`` are the names of the captures.
    """
    settings = settings_apart(usual, other)
    step = _first_step(usual, other, a, b)
    if settings:
        told = [f"{name} is {mine} on {b}, {theirs} on {a}" for name, theirs, mine in settings]
        cause = f"{b} differs from {a} in its settings: {told[0]}"
        cause += f", and {len(told) - 1} more" if len(told) > 1 else ""
        if step is not None:
            cause += f"; {step.cause}"
        place, keys = (None, ()) if step is None else (step.place, step.keys)
        return Parting(cause, place, "\n".join(told), keys)
    if step is not None:
        return Parting(f"{b} differs from {a} {step.cause}", step.place, step.quoted, step.keys)
    return _caches(usual, other, a, b)


def _finding(usual: Sequence[Capture], group: Sequence[Capture], parting: Parting) -> Finding:
    first = group[0]
    identity = f"{usual[0].rank} {first.rank}"
    return Finding(
        id=identify("ranks", parting.place, identity),
        kind="ranks",
        place=parting.place,
        code=Program(first).code(parting.place),
        cause=parting.cause,
        quoted=parting.quoted,
        remedy=_REMEDY,
        count=len(group),
        keys=parting.keys,
        links=(Link(f"rank_{first.rank}", 0, "that rank's capture"),),
    )


def _names(group: Sequence[Capture]) -> str:
    """Name ranks in few words: ``rank 3``, ``ranks 0-2, 5``."""
    numbers = sorted(capture.rank or 0 for capture in group)
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    told = ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
    return f"rank{'s' if len(numbers) > 1 else ''} {told}"


def _grouped(captures: Sequence[Capture]) -> list[list[Capture]]:
    """Group captures by what they compiled, the group of the first rank first."""
    found: dict[object, list[Capture]] = {}
    for capture in sorted(captures, key=lambda capture: capture.rank or 0):
        steps = tuple(step.key for step in _steps(capture))
        settings = tuple(sorted(_settings(capture).items()))
        found.setdefault((steps, settings, _cached(capture)), []).append(capture)
    return list(found.values())


# -- settings --------------------------------------------------------------------------------------


def settings_apart(one: Capture, other: Capture) -> list[tuple[str, str, str]]:
    """Return the settings that differ between two captures: name, one's value, the other's.

    Paths, and environment variables that hold paths, are specific to a process and are left out.
    """
    mine, theirs = _settings(one), _settings(other)
    names = [*mine, *(name for name in theirs if name not in mine)]
    return [
        (name, mine.get(name, "at its default"), theirs.get(name, "at its default"))
        for name in names
        if mine.get(name) != theirs.get(name)
    ]


def _settings(capture: Capture) -> Mapping[str, str]:
    return {
        name: _alike(value) for name, value in capture.configuration.items() if not is_folder(value)
    }


def is_folder(value: str) -> bool:
    """Return true if a setting's value is a path, which may well differ between processes."""
    return _FOLDER.match(value) is not None


# -- caches ----------------------------------------------------------------------------------------


def _cached(capture: Capture) -> tuple[tuple[str, str, str], ...]:
    return tuple((str(use.key), use.cache, use.result) for use in capture.of(CacheUse))


def _caches(usual: Capture, other: Capture, a: str, b: str) -> Parting | None:
    """Return the first compile for which only one of them had a cache hit."""
    mine = {(u.key, u.cache): u for u in other.of(CacheUse)}
    theirs = {(u.key, u.cache): u for u in usual.of(CacheUse)}
    for at in dict.fromkeys([*theirs, *mine]):
        one, two = theirs.get(at), mine.get(at)
        x, y = (use.result if use is not None else "not consulted" for use in (one, two))
        if x != y:
            key, cache = at
            places = [frame.place for frame in other.of(Frame) if frame.key == key]
            name = cache.replace("_", " ")
            cause = f"{b} differs from {a} in the {name} of [{key}]: {y} on {b}, {x} on {a}"
            reasons = [use.reason for use in (one, two) if use is not None and use.reason]
            return Parting(cause, next(iter(places), None), "\n".join(reasons), (str(key),))
    return None


# -- steps -----------------------------------------------------------------------------------------


def _first_step(usual: Capture, other: Capture, a: str, b: str) -> Parting | None:
    first, second = _steps(usual), _steps(other)
    pairs = list(zip(first, second))
    at = next((n for n, (x, y) in enumerate(pairs) if x.key != y.key), len(pairs))
    if at == len(first) == len(second):
        return None
    theirs = first[at] if at < len(first) else None
    mine = second[at] if at < len(second) else None
    place = next((step.place for step in (mine, theirs) if step is not None and step.place), None)
    keys = tuple(
        dict.fromkeys(key for step in (mine, theirs) if step is not None for key in step.keys)
    )
    if mine is not None and theirs is not None and mine.graph and theirs.graph:
        words, quoted, at_line = _graphs(usual, theirs.graph, other, mine.graph, a, b)
        is_program = at_line is not None and is_own(at_line.file)
        line = at_line if is_program else place
        return Parting(f"first at step {at + 1}: {words}", line, quoted, keys)
    x = theirs.words if theirs is not None else "nothing more"
    y = mine.words if mine is not None else "nothing more"
    verbs = ["have" if name.startswith("ranks ") else "has" for name in (a, b)]
    cause = f"first at step {at + 1}: {b} {verbs[1]} {y}, {a} {verbs[0]} {x}"
    return Parting(cause, place, "", keys)


_COLLECTIVE = re.compile(
    r"(?:^|[._])(?:all_reduce|all_gather|all_to_all|reduce_scatter|broadcast|isend|irecv|"
    r"gather|scatter|barrier|permute_tensor)(?:_\w+)?(?:\.\w+)?$"
)
_ASSIGNED = re.compile(r"^\w+(?:: \"[^\"]*\")? = ")


def _collectives(capture: Capture, graph: Graph) -> list[tuple[str, Place | None]]:
    """Return the collective operations of a graph in order, as printed, without result names."""
    lines = _lines(capture, graph)
    nodes = capture.nodes(graph.file)
    found = []
    for node, (line, place) in zip(nodes, lines):
        if node.op.startswith("call") and _COLLECTIVE.search(node.target):
            told = _ASSIGNED.sub("", line)
            for number, name in enumerate(node.args):
                told = re.sub(rf"\b{re.escape(name)}\b", f"input {number}", told)
            found.append((told, place))
    return found


def _other_collectives(
    usual: Capture, theirs: Graph, other: Capture, mine: Graph, a: str, b: str
) -> tuple[str, str, Place | None] | None:
    """Return how the collectives of two graphs differ; None if they are the same."""
    one, two = _collectives(usual, theirs), _collectives(other, mine)
    x, y = [line for line, _ in one], [line for line, _ in two]
    if x == y:
        return None
    at = next((n for n, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
    told = [lines[at] if at < len(lines) else "nothing more" for lines in (x, y)]
    what = (
        "its collectives in a different order"
        if sorted(x) == sorted(y)
        else "different collectives"
    )
    words = f"the {mine.stage} graph of [{mine.key}] has {what}"
    words += f": number {at + 1} is `{told[1]}` on {b}, `{told[0]}` on {a}"
    quoted = "\n".join([f"{b}: {'; '.join(y)}", f"{a}: {'; '.join(x)}"])
    places = [part[at][1] for part in (two, one) if at < len(part)]
    return words, quoted, next((place for place in places if place is not None), None)


def _graphs(
    usual: Capture, theirs: Graph, other: Capture, mine: Graph, a: str, b: str
) -> tuple[str, str, Place | None]:
    """Return the first line that differs between two graphs, and its place."""
    found = _other_collectives(usual, theirs, other, mine, a, b)
    if found is not None:
        return found
    one, two = (_lines(c, g) for c, g in ((usual, theirs), (other, mine)))
    at = next((n for n, (x, y) in enumerate(zip(one, two)) if x[0] != y[0]), -1)
    if at < 0:
        at = min(len(one), len(two))
    x = one[at] if at < len(one) else ("nothing more", None)
    y = two[at] if at < len(two) else ("nothing more", None)
    words = f"the {mine.stage} graph of [{mine.key}] has `{y[0]}` on {b}, `{x[0]}` on {a}"
    return words, f"{b}: {y[0]}\n{a}: {x[0]}", y[1] or x[1]


def _lines(capture: Capture, graph: Graph) -> list[tuple[str, Place | None]]:
    """Return the nodes of a graph as printed, each with its place."""
    text = capture.text(graph.file).split("\n")
    found = []
    for node in capture.nodes(graph.file):
        line = text[node.line - 1].strip() if 0 < node.line <= len(text) else node.name
        if node.op == "placeholder":
            size = ", ".join(node.shape) if node.shape is not None else ""
            line = f"{node.name}: {node.dtype}[{size}]" if node.dtype else node.name
        found.append((_alike(_TAIL.sub("", line)), node.place))
    return found


def _steps(capture: Capture) -> list[Step]:
    """Return the steps of a capture, in order."""
    steps: list[Step] = []
    program = Program(capture)
    latest = {(g.key, g.stage, g.file): g for g in capture.of(Graph)}
    for event in capture.events:
        if isinstance(event, Graph):
            if event.stage == "captured" and latest[event.key, event.stage, event.file] is event:
                steps.append(_graph_step(capture, event))
        else:
            step = _step(program, event)
            if step is not None:
                steps.append(step)
    return steps


def _graph_step(capture: Capture, graph: Graph) -> Step:
    lines = tuple(line for line, _ in _lines(capture, graph))
    words = f"a graph of [{graph.key}] with {len(lines)} nodes"
    places = [event.place for event in capture.of(Started) if event.key == graph.key]
    place = next((place for place in places if place is not None), None)
    return Step(("graph", str(graph.key), lines), words, place, (str(graph.key),), graph)


def _step(program: Program, event: Any) -> Step | None:
    if isinstance(event, Break):
        place = program.own(event.frames, event.place)
        key = f"break {event.kind} {place}"
        return Step(key, f"a graph break ({event.kind})", place, _key(event.key))
    if isinstance(event, Recompile):
        failure = event.failures[0] if event.failures else None
        told = difference(failure) if failure is not None else "a failed guard"
        place = failure.place if failure is not None else None
        words = f"a recompile of [{event.key}] because {told}"
        return Step(f"recompile {event.key} {_alike(told)}", words, place, _key(event.key))
    if isinstance(event, Frame):
        words = f"`{event.place.function}` compiled as [{event.key}]"
        return Step(f"frame {event.key} {event.place}", words, event.place, _key(event.key))
    if isinstance(event, Skipped):
        words = f"[{event.key}] not compiled"
        return Step(f"skipped {event.key} {event.place}", words, event.place, _key(event.key))
    if isinstance(event, Collectives):
        schedule = ", ".join(event.schedule) or "no collectives"
        words = f"the collectives of [{event.key}] as {schedule}"
        return Step(f"collectives {event.key} {schedule}", words, None, _key(event.key))
    return None


def _key(key: CompileKey) -> tuple[str, ...]:
    return (str(key),)


def _alike(text: str) -> str:
    return _OF_ONE_PROCESS.sub("#", scrub(text))


# -- torch's own check -----------------------------------------------------------------------------

_DIFFERS = re.compile(r"node (\d+):\s+rank (\d+): (.*)\s+rank (\d+): (.*)")
_COUNT = re.compile(r"rank (\d+): (\d+) call_function nodes")


def mismatches(capture: Capture, program: Program) -> list[Finding]:
    """Find graphs that differ between ranks according to torch's own check."""
    found: dict[str, Finding] = {}
    for event in capture.of(RankMismatch):
        place = _function_of(capture, event.key)
        found[str(event.key)] = Finding(
            id=identify("ranks", place, f"spmd {event.key}"),
            kind="ranks",
            place=place,
            code=program.code(place),
            cause=f"the ranks compiled different graphs for [{event.key}]: {_first_of(event.text)}",
            quoted=event.text,
            remedy="make every rank take the same path through the model: otherwise the ranks call "
            "their collectives in a different order, and may hang",
            keys=(str(event.key),),
        )
    return list(found.values())


def _first_of(text: str) -> str:
    """Return the first difference named in torch's report."""
    differs = _DIFFERS.search(text)
    if differs is not None:
        number, one, mine, other, theirs = differs.groups()
        one_op, other_op = (op.partition(" meta=")[0].strip() for op in (mine, theirs))
        if one_op != other_op:
            return f"node {number} is {one_op} on rank {one}, {other_op} on rank {other}"
        return f"node {number} ({one_op}) has different sizes or types on ranks {one} and {other}"
    counts = dict.fromkeys(f"{count} nodes on rank {rank}" for rank, count in _COUNT.findall(text))
    return ", ".join(counts) or "torch does not say where"


def _function_of(capture: Capture, key: CompileKey) -> Place | None:
    return next((frame.place for frame in capture.of(Frame, key)), None)


KIND = Kind(
    "ranks",
    rank=10,
    means="Ranks of a distributed job compiled different code.",
    words="difference between processes",
    many="differences between processes",
    tone="again",
    is_compared=False,
    quotes_torch=False,
    find=mismatches,
    across=ranks,
)
