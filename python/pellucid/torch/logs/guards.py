# SPDX-License-Identifier: Apache-2.0
"""Parser of torch's printed tree of guards, which rebuilds the guards of a cache entry.

The tree is the output of ``print`` for a guard manager::

    | +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', …), type=…
    | | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, …)  # y = x + 1  # job/a.py:3 in f

It has the guards' text but not the objects that decide them, so no Python is generated.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from pellucid.dump.model.events import CacheEntry, CompileKey, Guard
from pellucid.dump.model.names import scrub

from ..guards.kinds import split

_LINE = re.compile(r"(?P<depth>(?:\| )*)\+- (?P<text>.*)\Z", re.DOTALL)
_MANAGER = re.compile(
    r"(?:(?:Key|Value)Manager: )?(?P<class>\w*GuardManager): source=(?P<source>.*?)"
    r"(?:, accessed_by=(?P<access>\w+)\(?.*|, type=.*)?\Z",
    re.DOTALL,
)
_PAIR = re.compile(r"KeyValueManager pair at index=(\d+)\Z")
_LEAF = re.compile(r"(?P<kind>[A-Z][A-Z0-9_]+)(?:: (?P<text>.*))?\Z", re.DOTALL)
_END = "Guard latency = "
_SEVERAL = ("DIMENSION_DYNAMIC_MARKING_GUARD",)
"""Leaf guards that print one line for each of their parts."""
_LONGEST = 10
"""The most digits of a number."""
MOST = 500_000
"""The number of guards that are kept per entry."""


class _Leaf(NamedTuple):
    kind: str
    text: str
    source: str


def entry_of_text(key: CompileKey, text: str) -> CacheEntry:
    """Return the cache entry of a compile from the printed tree of its guards.

    >>> tree = "+- RootGuardManager\\n| +- GuardManager: source=L['n'], type=x\\n"
    >>> tree += "| | +- EQUALS_MATCH: L['n'] == 2  # a.py:3 in f"
    >>> found = entry_of_text(CompileKey("0/0"), tree)
    >>> [(guard.kind, guard.text, guard.user_line, guard.source) for guard in found.guards]
    [('EQUALS_MATCH', "L['n'] == 2", 'a.py:3 in f', "L['n']")]
    """
    guards: list[Guard] = []
    for leaves in _grouped(_leaves(text)):
        if len(guards) >= MOST:
            break
        guards.extend(_guards(leaves))
    return CacheEntry(key, tuple(guards))


def _guards(leaves: list[_Leaf]) -> Iterator[Guard]:
    kind, _, source = leaves[0]
    told = " and ".join(split(leaf.text)[0] for leaf in leaves)
    line = split(leaves[0].text)[1].partition(" (HINT: ")[0].strip().lstrip("# ")
    yield Guard(kind, scrub(told), scrub(line), None, scrub(source))


def _grouped(leaves: Iterator[_Leaf]) -> Iterator[list[_Leaf]]:
    """Join the lines that are parts of one guard."""
    group: list[_Leaf] = []
    for leaf in leaves:
        last = group[-1] if group else None
        same = last is not None and (last.kind, last.source) == (leaf.kind, leaf.source)
        if same and leaf.kind in _SEVERAL:
            group.append(leaf)
            continue
        if group:
            yield group
        group = [leaf]
    if group:
        yield group


def _leaves(text: str) -> Iterator[_Leaf]:
    """Yield each leaf guard in tree order, as often as it is checked."""
    found: list[_Leaf] = []
    path: list[str] = []
    begins: list[tuple[int, int]] = []
    ordered: dict[tuple[int, int], tuple[str, int]] = {}
    told = _Relations()
    for number, (depth, line) in enumerate(_lines(text)):
        del path[depth:], begins[depth:]
        above = path[-1] if path else ""
        pair, manager, leaf = _PAIR.match(line), _MANAGER.match(line), _LEAF.match(line)
        if pair is not None:
            if begins and len(pair[1]) < _LONGEST:
                ordered[begins[-1]] = (above, int(pair[1]) + 1)
        elif leaf is not None:
            found.extend(told.of(leaf["kind"], leaf["text"], above))
            continue
        elif manager is not None:
            above = manager["source"]
            if "DictGuardManager" in manager["class"]:
                # torch reads its keys in order, after checking their number.
                ordered[len(found), number] = (above, 0)
        path.append(above)
        # Guards below a pair belong to the dictionary's manager, too.
        begins.append(begins[-1] if pair is not None and begins else (len(found), number))
    for place in sorted(ordered, reverse=True):
        source, count = ordered[place]
        found.insert(place[0], _Leaf("DICT_KEYS", f"len({source}) >= {count}", source))
    return iter(found)


class _Relations:
    """Guards on several values, whose text is only printed at the first one."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def of(self, kind: str, text: str | None, source: str) -> Iterator[_Leaf]:
        """Yield the guard on a line; nothing if it only names another one of the values."""
        if kind == "OBJECT_ALIASING":
            if text is None:
                yield _Leaf(kind, self._texts.get(kind, ""), source)
        elif kind == "NO_TENSOR_ALIASING" and text is None:
            yield _Leaf(kind, f"check_no_aliasing(…, {source}, …)", source)
        elif kind != "STORAGE_OVERLAPPING" or text is not None:
            yield _Leaf(kind, self._texts.get(kind, "") if text is None else text, source)
        if text is not None:
            self._texts[kind] = text


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of the tree with their depth; continuation lines are joined."""
    depth, pending = 0, ""
    for line in text.split("\n"):
        found = _LINE.match(line)
        if found is None:
            if line.startswith(_END):
                break
            if pending:
                pending += f"\n{line}"
            continue
        if pending:
            yield depth, pending.rstrip("\n")
        depth, pending = len(found["depth"]) // 2, found["text"]
    if pending:
        yield depth, pending.rstrip("\n")


__all__ = ["entry_of_text"]
