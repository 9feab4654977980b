# SPDX-License-Identifier: Apache-2.0
"""Pickles as trees of values: nothing is imported or called.

The stack machine is the core's.  A value is a :class:`Node`; an object is the call that would make
it, with what is done to the result afterwards.  Nodes share the values that a pickle shares, so a
walk must remember where it was, or count its steps.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, NamedTuple, TypeVar

from pellucid import _core
from pellucid.errors import DecompileError

MOST_VALUES = 1 << 22
"""The number of values of one pickle; torch's own have thousands."""
_DEEPEST = 40
_MOST_STEPS = 20_000
_CONTAINERS = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}
_PLAIN = ("None", "bool", "int", "float", "str", "bytes")
_CHANGES = ("state", "appended", "stored", "added")
_BEGINS = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))

T = TypeVar("T")


class Tree:
    """One pickle, which may be in the bytes of another one.

    Raises:
        DecompileError: the bytes are not a pickle that can be read to its end.
    """

    def __init__(self, data: bytes, within: Tree | None = None) -> None:
        self.within = within
        self.core = _core.Pickle(data, begin_of(data) or 0, MOST_VALUES)
        root = self.core.root
        if root is None:
            raise DecompileError(self.core.failure or "no value", self.core.end)
        self.root = Node(self, root)
        self._objects: list[tuple[str, Node]] | None = None
        self._known: dict[tuple[str, int], Any] = {}

    def once(self, what: str, number: int, find: Callable[[], T]) -> T:
        """Return what was found for a value before, or find it now."""
        key = what, number
        if key not in self._known:
            self._known[key] = find()
        found: T = self._known[key]
        return found

    def nodes(self) -> Iterator[Node]:
        """Return all values, in the order in which loading would make them."""
        return (Node(self, number) for number in range(self.core.size))

    def objects(self, *classes: str) -> Iterator[Node]:
        """Yield the objects of classes with these names, in the order in which they are made."""
        if self._objects is None:
            self._objects = [
                (node.cls.rpartition(".")[2], node) for node in self.nodes() if node.kind == "call"
            ]
        yield from (node for name, node in self._objects if name in classes)

    def nested(self) -> Iterator[bytes]:
        """Yield the bytes in this pickle that begin like a pickle."""
        for node in self.nodes():
            if node.kind == "bytes":
                data = node.value
                if begin_of(data) is not None:
                    yield data


AHEAD = b"PT2AOT"
"""The mark of a function that was compiled ahead of time, since torch 2.15; a version follows."""


def begin_of(data: bytes) -> int | None:
    """Return where the pickle in bytes begins; None if torch writes no pickle like that.

    >>> begin_of(b"\\x80\\x04N."), begin_of(b"PT2AOT\\x01\\x80\\x04N."), begin_of(b"code")
    (0, 7, None)
    """
    start = len(AHEAD) + 1 if data.startswith(AHEAD) else 0
    return start if data[start : start + 2] in _BEGINS else None


class Node(NamedTuple):
    """A value of a pickle."""

    tree: Tree
    number: int

    @property
    def kind(self) -> str:
        """Return ``str``, ``dict``, …; ``global`` for an import, ``call`` for an object."""
        return self.tree.core.kind(self.number)

    @property
    def value(self) -> Any:
        """Return a number, text or bytes; None for all others."""
        return self.tree.core.value(self.number)

    @property
    def path(self) -> str:
        """Return the dotted name of a class or function; empty for other values."""
        return self.tree.core.path(self.number) if self.kind in ("global", "call") else ""

    @property
    def items(self) -> tuple[Node, ...]:
        """Return the parts as the pickle has them; see ``src/pickle/graph.h``."""
        found: tuple[Node, ...] = self.tree.once("items", self.number, self._find_items)
        return found

    def _find_items(self) -> tuple[Node, ...]:
        core = self.tree.core
        return tuple(Node(self.tree, n) for n in core.items(self.number) if n < core.size)

    @property
    def cls(self) -> str:
        """Return the dotted name of what makes an object, usually its class; else empty."""
        return self.tree.once("cls", self.number, self._find_cls)

    def _find_cls(self) -> str:
        if self.kind != "call":
            return ""
        made = self.items[0].path
        return self.args[0].path if made == "copyreg._reconstructor" and self.args else made

    @property
    def args(self) -> tuple[Node, ...]:
        """Return the arguments of the call that makes an object."""
        items = self.items
        is_call = self.kind == "call" and len(items) > 1
        return items[1].items if is_call and items[1].kind == "tuple" else ()

    @property
    def fields(self) -> Mapping[str, Node]:
        """Return an object's attributes, or the values of a dict's texts."""
        found: Mapping[str, Node] = self.tree.once("fields", self.number, self._find_fields)
        return found

    def _find_fields(self) -> Mapping[str, Node]:
        found: dict[str, Node] = {}
        for change in self.items if self.kind == "call" else ():
            if change.kind == "state" and change.items:
                state = change.items[0]
                # With slots, it is a pair.
                for part in state.items if state.kind == "tuple" else (state,):
                    found.update(part.fields if part.kind == "dict" else {})
        for key, value in self.pairs:
            if key.kind == "str":
                found[key.value] = value
        return found

    def get(self, name: str) -> Node | None:
        """Return an attribute, or the value of a dict's key."""
        return self.fields.get(name)

    def text(self, name: str) -> str:
        """Return an attribute that is a text; empty for any other."""
        found = self.get(name)
        return str(found.value) if found is not None and found.kind == "str" else ""

    @property
    def pairs(self) -> tuple[tuple[Node, Node], ...]:
        """Return the keys and values of a dict, or of an object that is one."""
        found: list[Node] = []
        if self.kind == "dict":
            found += self.items
        for change in self.items if self.kind == "call" else ():
            found += change.items if change.kind == "stored" else ()
        return tuple(zip(found[::2], found[1::2]))

    @property
    def elements(self) -> tuple[Node, ...]:
        """Return the elements of a sequence or set, or of an object that is one."""
        if self.kind != "call":
            return self.items if self.kind in _CONTAINERS else ()
        changes = [item for item in self.items if item.kind in ("appended", "added")]
        found = tuple(item for change in changes for item in change.items)
        return found or (self.args[0].elements if self.args else ())

    def below(self) -> Iterator[Node]:
        """Yield this value and all that it leads to, each once."""
        seen = {self.number}
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            for item in reversed(node.items):
                if item.number not in seen:
                    seen.add(item.number)
                    pending.append(item)

    def plain(self) -> Any:
        """Return the value as Python's own, with an :class:`Opaque` for each object in it."""
        return _Plain().of(self, 0)


class Opaque:
    """An object or a name, which is only shown."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __repr__(self) -> str:
        return self._shown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and repr(other) == self._shown

    def __hash__(self) -> int:
        return hash(self._shown)


class _Plain:
    """Converts one value, in a limited number of steps."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def of(self, node: Node, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            return Opaque("…")
        kind = node.kind
        if kind in _PLAIN:
            return node.value
        if kind == "dict":
            found = ((self.of(key, depth + 1), self.of(v, depth + 1)) for key, v in node.pairs)
            return {_hashable(key): value for key, value in found}
        if kind in _CONTAINERS:
            items: Any = (self.of(item, depth + 1) for item in node.items)
            if kind in ("set", "frozenset"):
                items = map(_hashable, items)
            return _CONTAINERS[kind](items)
        return Opaque(self._shown(node, depth))

    def _shown(self, node: Node, depth: int) -> str:
        path = node.path
        if path:
            name = path[len("builtins.") :] if path.startswith("builtins.") else path
            return name if name.startswith("torch.") and node.kind == "global" else f"<{name}>"
        name = node.cls.rpartition(".")[2]
        args = [self.of(arg, depth + 1) for arg in node.args]
        if name == "device":
            index = f", index={args[1]!r}" if len(args) > 1 else ""
            return f"device(type={args[0]!r}{index})" if args else "<device>"
        if name in ("Size", "slice", "range"):
            shown = (
                list(args[0]) if name == "Size" and args and isinstance(args[0], tuple) else args
            )
            return f"torch.Size({shown})" if name == "Size" else f"{name}{tuple(shown)}"
        return f"<{node.cls or 'object'} object>"


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return Opaque(repr(value))
    return value
