# SPDX-License-Identifier: Apache-2.0
"""Reader for torch's tree of guard managers: plain nodes in the order in which torch checks them.

A manager represents one value.  It has leaf guards, which check that value, and accessors, each of
which reads another value and passes it to a child manager.  Reading uses only torch's functions for
printing a tree; it runs no guard, so no count, tag or state of torch changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .shapes import SHAPES

_ACCESSOR = re.compile(r"(?P<kind>\w+)(?:<(?P<of>[\w:]+)>)?(?:\((?P<key>.*)\))?\Z", re.DOTALL)
_NEEDED = ("get_accessors", "get_child_managers", "get_leaf_guards", "get_source")


@dataclass(frozen=True)
class Leaf:
    """One leaf guard."""

    kind: str
    parts: tuple[str, ...]
    """torch's text: one expression, or several that must all hold."""
    handle: Any = field(repr=False)
    """torch's own leaf.  It belongs to the tree, and must not be used after the tree is freed."""


@dataclass
class Manager:
    """The guards of one value, and the access path from its parent."""

    source: str
    """torch's text, from ``L`` (locals) or ``G`` (globals): ``L['self'].weight``."""
    access: str
    """The accessor's class, or ``key``, ``value`` for a dict's items in order."""
    key: str
    """The accessor's argument, in its own text; for a dict's items, their number."""
    type: type | None
    """The type of the value when torch compiled, if this torch records it."""
    ordered_keys: int = -1
    """For a dict that torch reads in order, the number of items with guards; otherwise -1."""
    leaves: list[Leaf] = field(default_factory=list)
    children: list[Manager] = field(default_factory=list)


def can_be_read(root: Any) -> bool:
    """Return true if a root guard manager supports :func:`read_tree`; report it otherwise."""
    readable = all(hasattr(root, name) for name in _NEEDED)
    if not readable:
        SHAPES.missed("tree of guards")
    return readable


def read_tree(root: Any) -> tuple[Manager, list[Leaf]]:
    """Read a root guard manager: its tree, and the leaf guards checked after the tree."""
    known: dict[int, Leaf] = {}
    top = _manager(root, "", "", known)
    pending = [(root, top)]
    while pending:
        theirs, ours = pending.pop()
        # torch reorders the accessors by how often each failed; this is the current order.
        accessors = theirs.get_accessors()
        for accessor, child in zip(accessors, theirs.get_child_managers()):
            access, key = _access(accessor)
            ours.children.append(_manager(child, access, key, known))
            pending.append((child, ours.children[-1]))
        pairs = getattr(theirs, "get_key_value_managers", None)
        if pairs is None:
            if type(theirs).__name__ == "DictGuardManager":
                SHAPES.missed("guards of a dict's keys")
            continue
        numbered = sorted(pairs().items())
        ours.ordered_keys = 1 + max((number for number, _ in numbered), default=-1)
        for number, pair in numbered:
            for access, child in zip(("key", "value"), pair):
                if child is not None:
                    ours.children.append(_manager(child, access, str(number), known))
                    pending.append((child, ours.children[-1]))
    last = getattr(root, "get_epilogue_lambda_guards", None)
    if last is None:
        SHAPES.missed("guards that torch decides last")
    return top, [_leaf(handle, known) for handle in (last() if last else ())]


def _manager(theirs: Any, access: str, key: str, known: dict[int, Leaf]) -> Manager:
    tell = getattr(theirs, "get_type_of_guarded_value", None)
    if tell is None and hasattr(theirs, "is_tag_safe"):  # older releases have neither
        SHAPES.missed("types of guarded values")
    kind = None if tell is None or not access else tell()
    return Manager(
        source=str(theirs.get_source()) if access else "L",
        access=access,
        key=key,
        type=kind if isinstance(kind, type) else None,
        leaves=[_leaf(handle, known) for handle in theirs.get_leaf_guards()],
    )


def _leaf(handle: Any, known: dict[int, Leaf]) -> Leaf:
    # One leaf may belong to the managers of many values, and its text names all of them.  The entry
    # in `known` keeps the handle alive, so its id stays unique.
    found = known.get(id(handle))
    if found is None:
        parts = tuple(map(str, handle.verbose_code_parts()))
        found = known[id(handle)] = Leaf(type(handle).__name__, parts, handle)
    return found


def _access(accessor: Any) -> tuple[str, str]:
    text = str(accessor.repr())
    found = _ACCESSOR.match(text)
    if found is None:
        return type(accessor).__name__, text
    of = (found["of"] or "").rpartition("::")[2]
    return found["kind"] + (f":{of}" if of else ""), found["key"] or ""
