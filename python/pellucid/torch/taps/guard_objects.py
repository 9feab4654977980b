# SPDX-License-Identifier: Apache-2.0
"""Process-specific data for the guards of a dumped file: identities and leaf guards.

``ID_MATCH`` checks for one object, and an address in a file is meaningless; so the file has a
number, ``kept[3]``, that is resolved here.  Nothing here keeps an object of the program alive:
identities are numbers, and torch's leaf guards are dropped when torch drops their cache entry.
After that, and in any other process, every number resolves to None.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from types import CodeType, FunctionType
from typing import Any, Callable, Mapping, Sequence

from pellucid.dump.model.names import known_globals, stable_globals

from .shapes import SHAPES

_REGISTRY: dict[tuple[str, str], Kept] = {}
_LOCK = threading.Lock()
_OTHER_LENGTH = re.compile(r"len\((.*)\) != (\d+)", re.DOTALL)


class Decision:
    """torch's own leaf guard, for a check that only the leaf can make."""

    def __init__(self, handle: Any, owner: Any) -> None:
        self._handle = handle
        # The handle belongs to torch's tree, so this keeps the tree alive for one call.
        self._owner = owner

    def __call__(self, value: object) -> bool:
        """Return true if the guard holds for a value."""
        return bool(self._handle(value))


class DictKeys:
    """The class of a dict and its number of keys, which torch only reveals by failing a check."""

    def __init__(self, owner: Callable[[], Any], path: Sequence[str]) -> None:
        """Use the managers with these sources; the last one is the dict's."""
        self._owner = owner
        self._sources = {*path, "L"}
        self._source = path[-1]
        self._other_class = f"TYPE_MISMATCH({path[-1]})"
        self._known: tuple[int, int] | None = None

    def __call__(self, question: tuple[Any, Any]) -> bool:
        """Return true if the dict in a pair (frame, dict) matches.

        torch is queried at each call until it has revealed the class and the number.
        """
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
        # Before torch 2.6, the whole tree is checked.  Guards before this dict hold, or this would
        # not have been called, so a failure after it means that it holds.
        behind = clone is None and not told.startswith(self._other_class)
        if info.result or length is not None or behind:
            count = dict.__len__(value) if length is None else int(length[2])
            self._known = id(type(value)), count
        return not told.startswith(self._other_class)


class Kept:
    """The data for one cache entry's guards; see the module's docstring."""

    def __init__(
        self, owner: Any = None, items: Sequence[Any] = (), shown: Mapping[str, str] | None = None
    ) -> None:
        """Store numbers, names, and leaf guards (as ``Leaf.handle``) while ``owner`` lives.

        ``shown`` maps the names that the file shows to the real names, which differ between runs.
        """
        self._items: list[Any] = list(items)
        self._shown = dict(shown or {})
        self._reference = _nothing if owner is None else weakref.ref(owner, self._drop)
        self._code: Callable[[], Any] = _nothing
        self._original: Callable[[], Any] = _nothing

    def _drop(self, _: object) -> None:
        self._items.clear()

    def _owner(self) -> Any:
        """Return torch's guard manager while a cache entry has it."""
        owner = self._reference()
        # Callbacks of weak references can keep a manager alive after its entry, which is then None.
        return None if getattr(owner, "cache_entry", owner) is None else owner

    def runs(self, code: CodeType, original: CodeType | None) -> Kept:
        """Also remember, weakly, the code that torch runs for this entry, and the original."""
        self._code = weakref.ref(code)
        self._original = _nothing if original is None else weakref.ref(original)
        return self

    def __getitem__(self, number: int) -> Any:
        """Return an id, a name, or a :class:`Decision`; None in any other process."""
        owner = self._owner()
        if owner is None or number >= len(self._items):
            return None
        item = self._items[number]
        return item if isinstance(item, (int, str)) else Decision(item, owner)

    def name(self, number: int, shown: str) -> str:
        """Return the real name for a number; in other processes, the name that the file shows."""
        found = self[number]
        return found if isinstance(found, str) else shown

    def globals(self, otherwise: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the globals of the program's function, or else those of the file."""
        scope = getattr(self._owner(), "global_scope", None) or {}
        found = scope.get("G")
        return found if isinstance(found, dict) else otherwise

    def named(self, slug: str) -> dict[str, Any]:
        """Return the globals of the program's function, under the dump's names."""
        scope = dict(self.globals({}))
        code = self._code()
        names = code.co_names if isinstance(code, CodeType) else ()
        shown = {real: name for name, real in self._shown.items()}
        shown.update(stable_globals(names, (), slug, known_globals(names, scope)))
        return {**scope, **{shown[name]: scope[name] for name in shown if name in scope}}

    def transformed(self, shown: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that torch runs for this entry; in other processes, the file's."""
        return self._function(self._code(), shown)

    def original(self, shown: Callable[..., Any]) -> Callable[..., Any]:
        """Return the program's own function; in other processes, the file's."""
        return self._function(self._original(), shown)

    def _function(self, code: Any, shown: Callable[..., Any]) -> Callable[..., Any]:
        scope = self.globals({})
        # A closure's cells belong to one particular function, which is not known here.
        if not isinstance(code, CodeType) or code.co_freevars or not isinstance(scope, dict):
            return shown
        return FunctionType(code, scope) if scope else shown


def _nothing() -> None:
    """Stand in for a reference to nothing."""


def check(owner: Any) -> None:
    """Report the attributes that torch's guard manager lacks."""
    if not hasattr(owner, "global_scope") or not hasattr(owner, "cache_entry"):
        SHAPES.missed("guard manager of a cache entry")
    if not hasattr(getattr(owner, "root", owner), "check_verbose"):
        SHAPES.missed("check that says what failed")


def register(path: str, slug: str, kept: Kept) -> None:
    """Register the data for the numbers in the file at ``path`` for the compile ``slug``."""
    with _LOCK:
        _REGISTRY[os.path.abspath(path), slug] = kept


def find(path: str | None, slug: str) -> Kept:
    """Return the data for a file's numbers; empty in a process that did not write the file."""
    if path is None:
        return Kept()
    with _LOCK:
        return _REGISTRY.get((os.path.abspath(path), slug)) or Kept()
