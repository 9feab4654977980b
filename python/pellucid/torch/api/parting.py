# SPDX-License-Identifier: Apache-2.0
"""The search for the first operation whose result differs between two stages.

Operations of graphs are matched by the origins that torch records for nodes; operations of the
eager program, which has no nodes, by the order of operators.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from typing import Any, Iterable, Iterator, NamedTuple, Sequence, Tuple

import torch

from .closeness import Tolerance
from .recording import Made
from .stages import AOT, CAPTURED, POST_GRAD

_MOST_ALIGNED = 4000
"""The number of operators that are aligned after the first one that differs."""
Name = Tuple[int, str, str]
"""The call of a graph, which of AOTAutograd's graphs it is, and the name of a node."""


class Pair(NamedTuple):
    """An operation in two stages; it may be missing in one of them."""

    before: Made | None
    after: Made | None


def first_parted(
    stage: str, before: Sequence[Made], after: Sequence[Made], tolerance: Tolerance
) -> Pair | None:
    """Return the first operation whose result differs; None if there is none.

    Args:
        stage: the later stage, which ran the operations ``after``.
        before, after: the operations of two stages of the same run, in order.
        tolerance: the allowed distance between two values.
    """
    if stage == CAPTURED:
        return _in_order(before, after, tolerance)
    if stage == AOT:
        return _by_origin(before, after, tolerance)
    return _by_name(before, after, tolerance, descend=stage == POST_GRAD)


def last_write(name_of: int, before: Sequence[Made], after: Sequence[Made]) -> Pair | None:
    """Return the operation that last wrote to some memory, if only one of the stages has it."""
    one = next((m for m in reversed(before) if name_of in m.memory and m.writes), None)
    other = next((m for m in reversed(after) if name_of in m.memory and m.writes), None)
    return Pair(one, other) if (one is None) != (other is None) else None


def other_draw(before: Sequence[Made], after: Sequence[Made]) -> Pair | None:
    """Return the first operation that draws random numbers in only one of two stages."""
    one, other = ([m for m in made if m.draws] for made in (before, after))
    signs = [[(m.operator, *_sign(m)[1:]) for m in made] for made in (one, other)]
    pairs = _aligned(*signs)
    names = [{(m.call, m.node) for m in made if m.node} for made in (before, after)]
    lone = [m for at, m in enumerate(one) if at not in {a for a, _ in pairs}]
    new = [m for at, m in enumerate(other) if at not in {b for _, b in pairs}]
    # Some passes move an operation into another one, which has its name.
    lone = [m for m in lone if (m.call, m.node) not in names[1]]
    new = [m for m in new if (m.call, m.node) not in names[0]]
    if not lone and not new:
        return None
    return Pair(lone[0] if lone else None, new[0] if new else None)


def _agree(one: Made, other: Made, tolerance: Tolerance) -> bool:
    pairs = [(a, b) for a, b in zip(one.values, other.values) if a is not None and b is not None]
    return all(a.dtype == b.dtype and not tolerance.part(a, b) for a, b in pairs)


def _like(one: Made, other: Made) -> bool:
    """Return true if two operations produce the same kinds of values."""
    return len(one.values) == len(other.values) and all(
        a is None or b is None or (a.shape == b.shape and a.dtype == b.dtype)
        for a, b in zip(one.values, other.values)
    )


# -- the eager program and Dynamo's graphs ---------------------------------------------------------


def _in_order(before: Sequence[Made], after: Sequence[Made], tolerance: Tolerance) -> Pair | None:
    pairs = _aligned(list(map(_sign, before)), list(map(_sign, after)))
    of_before, of_after = dict(pairs), {b: a for a, b in pairs}
    for a, b in pairs:
        if _agree(before[a], after[b], tolerance):
            continue
        lone, new = _unmatched(before, a, of_before), _unmatched(after, b, of_after)
        if not lone and not new:
            return Pair(before[a], after[b])
        return _of_unmatched(lone, new, tolerance)
    lone = [m for m in before if m.number not in of_before and _counts(m)]
    new = [m for m in after if m.number not in of_after and _counts(m)]
    return _of_unmatched(lone, new, tolerance) if lone or new else None


def _counts(made: Made) -> bool:
    """Return true if an operation computes something, rather than a view."""
    return made.operator not in _VIEWS


_VIEWS = frozenset(
    ["view", "t", "permute", "expand", "slice", "select", "transpose", "unsqueeze", "squeeze"]
)


def _sign(made: Made) -> tuple[object, ...]:
    return made.operation, *(None if v is None else (v.shape, v.dtype) for v in made.values)


def _aligned(one: Sequence[Any], other: Sequence[Any]) -> list[tuple[int, int]]:
    """Pair the indices of equal items in two lists, in order."""
    start, least = 0, min(len(one), len(other))
    while start < least and one[start] == other[start]:
        start += 1
    pairs = [(at, at) for at in range(start)]
    if max(len(one), len(other)) - start > _MOST_ALIGNED:
        return pairs
    matcher = difflib.SequenceMatcher(None, one[start:], other[start:], autojunk=False)
    for block in matcher.get_matching_blocks():
        pairs += [(start + block.a + k, start + block.b + k) for k in range(block.size)]
    return pairs


def counterpart(
    recorded: Sequence[Made], made: Made, others: Sequence[Made]
) -> torch.Tensor | None:
    """Return an operation's first result in another run of the same program; None if not found."""

    def signs(operations: Sequence[Made]) -> list[object]:
        return [
            (m.operation, *(None if v is None else v.shape for v in m.values)) for m in operations
        ]

    found = dict(_aligned(signs(recorded), signs(others))).get(made.number)
    values = [] if found is None else others[found].values
    return next((value for value in values if value is not None), None)


def _of_unmatched(lone: list[Made], new: list[Made], tolerance: Tolerance) -> Pair:
    """Return each stage's first operation whose result the other stage does not produce."""

    def differ(made: Sequence[Made], others: Sequence[Made]) -> list[Made]:
        return [m for m in made if not any(_like(m, o) and _agree(m, o, tolerance) for o in others)]

    one, other = differ(lone, new) or lone, differ(new, lone) or new
    return Pair(one[0] if one else None, other[0] if other else None)


def _unmatched(made: Sequence[Made], number: int, matched: dict[int, int]) -> list[Made]:
    """Return the operations that lead to an operation's arguments and have no match."""
    pending, found, seen = list(made[number].takes), [], set()
    while pending:
        at = pending.pop()
        if at in seen or at in matched:
            continue
        seen.add(at)
        found.append(at)
        pending += made[at].takes
    found = sorted([at for at in found if _counts(made[at])] or found)
    return [made[at] for at in found]


# -- Dynamo's graphs and AOTAutograd's -------------------------------------------------------------


def _by_origin(before: Sequence[Made], after: Sequence[Made], tolerance: Tolerance) -> Pair | None:
    groups: dict[tuple[int, str, str], list[Made]] = defaultdict(list)
    for made in after:
        groups[_group(made)].append(made)
    given = {group: _handed_on(members) for group, members in groups.items()}
    for made in _leaving(before):
        candidates = [other for other in given.get(_group(made), ()) if _like_any(made, other)]
        if candidates and not any(_agree_any(made, other, tolerance) for other in candidates):
            of_operator = [other for other in candidates if other.operator == made.operator]
            if of_operator or _counts(made):
                return Pair(made, (of_operator or candidates)[-1])
    # All values agree that can be compared; one may have a different type.
    for made in _leaving(before):
        others = given.get(_group(made), [])
        if others and all(_differs_in_type(made, other) for other in others):
            return Pair(made, others[-1])
    return None


def _differs_in_type(one: Made, other: Made) -> bool:
    a, b = next(iter(_tensors(one)), None), next(iter(_tensors(other)), None)
    return a is not None and b is not None and a.shape == b.shape and a.dtype != b.dtype


def _leaving(made: Sequence[Made]) -> list[Made]:
    """Return the operators whose results leave their Dynamo operation, or are unused."""
    inside: set[int] = set()
    outside: set[int] = set()
    for user in made:
        for number in user.takes:
            same = _group(made[number]) == _group(user)
            (inside if same else outside).add(number)
    return [m for m in made if m.number in outside or m.number not in inside]


def _handed_on(members: list[Made]) -> list[Made]:
    """Return the parts of an operation whose results others use, or else the graph's outputs.

    Intermediate values of an operation are not results, even if they are saved for a backward pass.
    """
    # Operations recomputed in the backward pass only serve the gradients.
    first = [m for m in members if m.direction == "backward" or m.part != "backward"]
    members = first or members
    own = {made.node_object for made in members}
    taken = [m for m in members if _users(m) - own]
    computed = [m for m in taken if any(u.op != "output" for u in _users(m) - own)]
    return computed or taken or members


def _users(made: Made) -> set[Any]:
    return set(made.node_object.users)


def _group(made: Made) -> tuple[int, str, str]:
    return made.call, made.direction, made.captured


def _partner(made: Made, candidates: list[Made], nth: int, is_last: bool) -> Made | None:
    """Return an operation's counterpart in a later stage: the same operator, or the last one."""
    of_operator = [other for other in candidates if other.operator == made.operator]
    # All parts of a decomposed operator carry its name; the last one computes its result.
    if len(of_operator) > 1 and nth == 0:
        return of_operator[-1]
    if nth < len(of_operator):
        return of_operator[nth]
    return candidates[-1] if is_last and candidates else None


def _tensors(made: Made) -> Iterable[torch.Tensor]:
    return (value for value in made.values if value is not None)


def _like_any(one: Made, other: Made) -> bool:
    first = next(iter(_tensors(one)), None)
    return first is not None and any(
        first.shape == value.shape and first.dtype == value.dtype for value in _tensors(other)
    )


def _agree_any(one: Made, other: Made, tolerance: Tolerance) -> bool:
    first = next(iter(_tensors(one)))
    return any(
        first.shape == value.shape
        and first.dtype == value.dtype
        and not tolerance.part(first, value)
        for value in _tensors(other)
    )


# -- graphs with the same names --------------------------------------------------------------------


def _by_name(
    before: Sequence[Made], after: Sequence[Made], tolerance: Tolerance, descend: bool
) -> Pair | None:
    named = {_name(made): made for made in after}
    for made in before:
        other = named.get(_name(made))
        if other is None or not _like(made, other) or _agree(made, other, tolerance):
            continue
        if descend:
            known = {_name(m): m for m in before}
            return _replaced(made, other, known, named, tolerance)
        return Pair(made, other)
    return _outputs(before, named, tolerance)


def _outputs(before: Sequence[Made], after: dict[Name, Made], tolerance: Tolerance) -> Pair | None:
    """Compare the results of graphs by position, whatever the names of their nodes."""
    known = {_name(made): made for made in before}
    graphs = {_name(m)[:2]: m.node_object.graph for m in before}
    others = {_name(m)[:2]: m.node_object.graph for m in after.values()}
    for key, graph in graphs.items():
        if key not in others:
            continue
        for one, other in zip(_returned(graph), _returned(others[key])):
            made, given = known.get((*key, one.name)), after.get((*key, other.name))
            if made and given and _like(made, given) and not _agree(made, given, tolerance):
                return Pair(*_replaced(made, given, known, after, tolerance))
    return None


def _returned(graph: Any) -> Iterator[Any]:
    """Yield the nodes that a graph returns, and a nameless object for values that are not nodes."""
    output = next(node for node in reversed(graph.nodes) if node.op == "output")
    for value in output.args[0] if isinstance(output.args[0], (list, tuple)) else output.args:
        yield value if hasattr(value, "name") else _NoNode


class _NoNode:
    name = ""


def _name(made: Made) -> Name:
    return made.call, made.part, made.node


def _replaced(
    one: Made,
    other: Made,
    before: dict[Name, Made],
    after: dict[Name, Made],
    tolerance: Tolerance,
) -> Pair:
    """Follow a value's inputs back to the operation that was replaced."""
    for _ in range(len(before) + 1):
        step = _step(one, other, before, after, tolerance)
        if step is None:
            break
        one, other = step
    return Pair(one, other)


def _step(
    one: Made,
    other: Made,
    before: dict[Name, Made],
    after: dict[Name, Made],
    tolerance: Tolerance,
) -> tuple[Made, Made] | None:
    nodes = getattr(one.node_object, "all_input_nodes", ())
    others = getattr(other.node_object, "all_input_nodes", ())
    for node, given in zip(nodes, others):
        if node.name == given.name:
            continue
        source = before.get((*_name(one)[:2], node.name))
        made = after.get((*_name(other)[:2], given.name))
        # A node that both stages have by this name represents itself.
        is_known = (*_name(other)[:2], given.name) in before
        if source is None or made is None or is_known or not _like(source, made):
            continue
        if not _agree(source, made, tolerance):
            return source, made
    return None
