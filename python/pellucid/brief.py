# SPDX-License-Identifier: Apache-2.0
"""How public objects read in one line, at a prompt or in a log."""

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
    """Cuts long values in the middle, before they are turned into text."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 72
        self.maxtuple = self.maxlist = self.maxdict = 2
        self.maxlevel = 3


_SHORT = _Short()
_MOST = 100
"""After how many characters no further field is shown."""


def one_line(kind: Type[T]) -> Type[T]:
    """Give a dataclass a repr of one line: the fields that are not at their default, cut short.

    >>> @one_line
    ... @dataclasses.dataclass
    ... class Graph:
    ...     text: str
    ...     calls: tuple = ()
    >>> Graph("-" * 1000)
    Graph(text='---------------------------------...----------------------------------')
    """
    setattr(kind, "__repr__", _repr)  # noqa: B010  # a type checker would not let it be assigned
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
    """A result whose text is a report of several lines, and whose repr is the first of them.

    IPython shows all of it, as it does of what has a display of its own.
    """

    def __repr__(self) -> str:
        first = str(self).partition("\n")[0] or "equal"
        return f"<{type(self).__name__}: {first}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self) or repr(self))
