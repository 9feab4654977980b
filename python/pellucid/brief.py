# SPDX-License-Identifier: Apache-2.0
"""One-line reprs of public objects, for a prompt or a log."""

import dataclasses
import reprlib
from typing import Any, Type, TypeVar

T = TypeVar("T")


def counted(number: int, word: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "graph"), counted(2, "graph")
    ('1 graph', '2 graphs')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"


class _Short(reprlib.Repr):
    """Shortens long values in the middle, before they are converted to text."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 72
        self.maxtuple = self.maxlist = self.maxdict = 2
        self.maxlevel = 3


_SHORT = _Short()
_MOST = 100
"""The length of a repr from which no further fields are added."""


def one_line(kind: Type[T]) -> Type[T]:
    """Give a dataclass a one-line repr with the fields that differ from their defaults.

    >>> @one_line
    ... @dataclasses.dataclass
    ... class Graph:
    ...     text: str
    ...     calls: tuple = ()
    >>> Graph("-" * 1000)
    Graph(text='---------------------------------...----------------------------------')
    """
    setattr(kind, "__repr__", _repr)  # noqa: B010  # a type checker rejects the assignment
    return kind


def _repr(value: Any) -> str:
    shown = ""
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        if field.repr and held != field.default:
            if len(shown) > _MOST:
                shown += ", …"
                break
            shown += f"{', ' if shown else ''}{field.name}={_SHORT.repr(held)}"
    return f"{type(value).__name__}({shown})"


class Report:
    """A result whose text is a report of several lines; its repr is the first line.

    IPython shows all of it, as it does of what has a display of its own.
    """

    def __repr__(self) -> str:
        first = str(self).partition("\n")[0] or "equal"
        return f"<{type(self).__name__}: {first}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self) or repr(self))
