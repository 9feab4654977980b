# SPDX-License-Identifier: Apache-2.0
"""What the guards of a dumped file need of the process that was captured: identities, leaf guards.

``ID_MATCH`` is about one object, and an address in a file means nothing; so the file has a number,
``kept[3]``, and here is what it stands for.  Nothing here keeps an object of the program alive:
identities are numbers, and torch's leaf guards are let go when torch lets go of their cache entry.
In any other process, and after that, every number stands for None.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from types import CodeType, FunctionType
from typing import Any, Callable, Mapping, Sequence

from ..model.names import known_globals, stable_globals
from .shapes import SHAPES

_REGISTRY: dict[tuple[str, str], Kept] = {}
_LOCK = threading.Lock()
_OTHER_LENGTH = re.compile(r"len\((.*)\) != (\d+)", re.DOTALL)


class Decision:
    """torch's own leaf guard, for a value that only the leaf knows."""

    def __init__(self, handle: Any, owner: Any) -> None:
        self._handle = handle
        # The handle belongs to torch's tree; this keeps the tree for as long as one call takes.
        self._owner = owner

    def __call__(self, value: object) -> bool:
        """Whether the guard holds for a value."""
        return bool(self._handle(value))


class DictKeys:
    """Of which class a dict was and how many keys it had, where torch tells it only by refusing."""

    def __init__(self, owner: Callable[[], Any], path: Sequence[str]) -> None:
        """Ask the managers with these sources, of which the last is the dict's."""
        self._owner = owner
        self._sources = {*path, "L"}
        self._source = path[-1]
        self._other_class = f"TYPE_MISMATCH({path[-1]})"
        self._known: tuple[int, int] | None = None

    def __call__(self, question: tuple[Any, Any]) -> bool:
        """Whether a dict of a frame, both given, is like it; torch is asked until it tells."""
        frame, value = question
        held = self._ask(frame, value) if self._known is None else True
        return held and self._known in (None, (id(type(value)), dict.__len__(value)))

    def _ask(self, frame: Any, value: Any) -> bool:
        root: Any = getattr(self._owner(), "root", None)
        clone = getattr(root, "clone_manager", None)
        alone = root if clone is None else clone(lambda m: m.get_source() in self._sources)
        if not hasattr(alone, "check_verbose"):
            return True
        info = alone.check_verbose(frame)
        told = str(info.verbose_code_parts[0]) if info.verbose_code_parts else ""
        length = _OTHER_LENGTH.match(told)
        length = length if length is not None and length[1] == self._source else None
        # Before torch 2.6 the whole tree is asked.  What stands before this dict in it holds, or
        # nobody would have come to ask about it, so a failure after it says that it holds.
        behind = clone is None and not told.startswith(self._other_class)
        if info.result or length is not None or behind:
            count = dict.__len__(value) if length is None else int(length[2])
            self._known = id(type(value)), count
        return not told.startswith(self._other_class)


class Kept:
    """What one cache entry's guards need; see the module."""

    def __init__(
        self, owner: Any = None, items: Sequence[Any] = (), shown: Mapping[str, str] | None = None
    ) -> None:
        """Keep numbers, names, and leaf guards (as ``Leaf.handle``) while ``owner`` lives.

        ``shown`` has the names that differ from run to run by those that the file shows instead.
        """
        self._items: list[Any] = list(items)
        self._shown = dict(shown or {})
        self._reference = _nothing if owner is None else weakref.ref(owner, self._drop)
        self._code: Callable[[], Any] = _nothing
        self._original: Callable[[], Any] = _nothing

    def _drop(self, _: object) -> None:
        self._items.clear()

    def _owner(self) -> Any:
        """torch's guard manager, as long as a cache entry has it."""
        owner = self._reference()
        # A manager may outlive its entry, in the callbacks of weak references; it then says so.
        return None if getattr(owner, "cache_entry", owner) is None else owner

    def runs(self, code: CodeType, original: CodeType | None) -> Kept:
        """Also remember, weakly, what torch runs for this entry and what it stands for."""
        self._code = weakref.ref(code)
        self._original = _nothing if original is None else weakref.ref(original)
        return self

    def __getitem__(self, number: int) -> Any:
        """An id, a name, or a :class:`Decision`; None when this is not the process captured."""
        owner = self._owner()
        if owner is None or number >= len(self._items):
            return None
        item = self._items[number]
        return item if isinstance(item, (int, str)) else Decision(item, owner)

    def name(self, number: int, shown: str) -> str:
        """A name that has an address in it, by its number; elsewhere as the file shows it."""
        found = self[number]
        return found if isinstance(found, str) else shown

    def globals(self, otherwise: Mapping[str, Any]) -> Mapping[str, Any]:
        """The globals of the program's function, or what the file itself has."""
        scope = getattr(self._owner(), "global_scope", None) or {}
        found = scope.get("G")
        return found if isinstance(found, dict) else otherwise

    def named(self, slug: str) -> dict[str, Any]:
        """The globals of the program's function, by the names that the dump has for them."""
        scope = dict(self.globals({}))
        code = self._code()
        names = code.co_names if isinstance(code, CodeType) else ()
        shown = {real: name for name, real in self._shown.items()}
        shown.update(stable_globals(names, (), slug, known_globals(names, scope)))
        return {**scope, **{shown[name]: scope[name] for name in shown if name in scope}}

    def transformed(self, shown: Callable[..., Any]) -> Callable[..., Any]:
        """What torch runs for this entry; elsewhere the function that the file shows."""
        return self._function(self._code(), shown)

    def original(self, shown: Callable[..., Any]) -> Callable[..., Any]:
        """The program's own function; elsewhere as the file shows it."""
        return self._function(self._original(), shown)

    def _function(self, code: Any, shown: Callable[..., Any]) -> Callable[..., Any]:
        scope = self.globals({})
        # A closure's cells belong to one of the program's functions, which one is not known here.
        if not isinstance(code, CodeType) or code.co_freevars or not isinstance(scope, dict):
            return shown
        return FunctionType(code, scope) if scope else shown


def _nothing() -> None:
    """Stand for a reference to what is not there."""


def check(owner: Any) -> None:
    """Say what torch's guard manager has not of what the functions here ask it."""
    if not hasattr(owner, "global_scope") or not hasattr(owner, "cache_entry"):
        SHAPES.missed("guard manager of a cache entry")
    if not hasattr(getattr(owner, "root", owner), "check_verbose"):
        SHAPES.missed("check that says what failed")


def register(path: str, slug: str, kept: Kept) -> None:
    """Say what the file at ``path`` means by its numbers for the compile ``slug``."""
    with _LOCK:
        _REGISTRY[os.path.abspath(path), slug] = kept


def find(path: str | None, slug: str) -> Kept:
    """What a file's numbers mean here; an empty one in a process that did not make the file."""
    if path is None:
        return Kept()
    with _LOCK:
        return _REGISTRY.get((os.path.abspath(path), slug)) or Kept()
