# SPDX-License-Identifier: Apache-2.0
"""Objects that tell what is done to them, and raise when they are told to.

Each operation adds a word to the log: truth tests, iteration, entering and leaving, comparing,
calling, awaiting, and being released. The operation that `reset` names by its place raises `Stop`.
"""

import gc
from typing import Any, Iterator, List

MOST = 60  # operations, after which each one raises: no loop is endless

LOG: List[Any] = []
_LEFT = [0, 0]  # operations until one raises (0: none does), and how many spies there are


class Stop(Exception):
    """What a spy raises."""


class Space(dict):  # type: ignore[type-arg]
    """Names in another mapping than a plain dictionary."""


class Namespace(dict):  # type: ignore[type-arg]
    """The names of a class body, which tell when they are loaded."""

    def __getitem__(self, name: str) -> Any:
        if not name.startswith("__"):
            note("name", name)
        return dict.__getitem__(self, name)


class Prepared(type):
    """A metaclass that has its own mapping for class bodies."""

    @classmethod
    def __prepare__(mcs, *_: Any, **__: Any) -> Any:
        return Namespace()

    def __new__(mcs, name: str, bases: Any, space: Any) -> Any:
        LOG.append(("class", name, [key for key in space if not key.startswith("__")]))
        return type.__new__(mcs, name, bases, dict(space))


def reset(left: int) -> None:
    """Begin a log; the operation with the number `left` raises."""
    gc.disable()
    LOG.clear()
    _LEFT[:] = [left, 0]


def note(*words: Any) -> None:
    """Add to the log."""
    LOG.append(words)
    _LEFT[0] -= 1
    if _LEFT[0] == 0 or len(LOG) > MOST:
        raise Stop(*words)


class Spy:
    """A value of which everything is seen."""

    def __init__(self, number: int = 0) -> None:
        _LEFT[1] += 1
        self.number = number or 10 + _LEFT[1]

    def __del__(self) -> None:
        LOG.append(("del", self.number))

    def __repr__(self) -> str:
        return f"Spy({self.number})"

    def __bool__(self) -> bool:
        note("bool", self.number)
        return len(LOG) % 3 != 0

    def __iter__(self) -> "Spy":
        note("iter", self.number)
        return Spy()

    def __next__(self) -> "Spy":
        note("next", self.number)
        if len(LOG) % 4 == 0:
            raise StopIteration
        return Spy()

    def __enter__(self) -> "Spy":
        note("enter", self.number)
        return Spy()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        note("exit", self.number, kind and kind.__name__)
        return len(LOG) % 3 == 0

    def _operate(self, other: Any) -> "Spy":
        note("operate", self.number)
        return Spy()

    __add__ = __radd__ = __iadd__ = __getitem__ = __lt__ = _operate
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: Any) -> bool:
        note("eq", self.number)
        return len(LOG) % 2 == 0

    def __contains__(self, other: Any) -> bool:
        note("in", self.number)
        return len(LOG) % 2 == 0

    def __call__(self, *args: Any, **named: Any) -> "Spy":
        note("call", self.number, len(args), sorted(named))
        return Spy()

    def __setitem__(self, key: Any, value: Any) -> None:
        note("set", self.number)

    def __format__(self, how: str) -> str:
        note("format", self.number, how)
        return "s"

    def meet(self, *args: Any) -> "Spy":
        """Be called as a method is."""
        note("meet", self.number, len(args))
        return Spy()

    @property
    def part(self) -> "Spy":
        """Be asked for an attribute."""
        note("part", self.number)
        return Spy()

    def __await__(self) -> "Iterator[Any]":
        note("await", self.number)
        sent = yield self.number
        note("resumed", self.number, type(sent).__name__)
        return Spy()

    async def __aenter__(self) -> "Spy":
        note("aenter", self.number)
        await self
        return Spy()

    async def __aexit__(self, *exception: Any) -> bool:
        note("aexit", self.number)
        return len(LOG) % 3 == 0

    def __aiter__(self) -> "Spy":
        note("aiter", self.number)
        return Spy()

    async def __anext__(self) -> "Spy":
        note("anext", self.number)
        if len(LOG) % 4 == 0:
            raise StopAsyncIteration
        return Spy()
