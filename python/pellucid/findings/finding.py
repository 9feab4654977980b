# SPDX-License-Identifier: Apache-2.0
"""The finding and its parts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Sequence

from pellucid.dump.model.events import Place
from pellucid.shown import Shown

from .remedy import Remedy, diff_of, in_order, in_words, of_words


@dataclass(frozen=True)
class Cost:
    """The cost of a cause, as far as the capture knows it."""

    seconds: float | None = None
    """The compile time charged to this finding alone; it varies between runs."""


@dataclass(frozen=True)
class Line:
    """A source line that a finding is about."""

    place: Place
    code: str
    """Its text; empty if the capture does not have it."""


@dataclass(frozen=True)
class Link:
    """A place in the dump that supports a finding."""

    file: str
    line: int = 0
    """0 for the whole file."""
    what: str = ""
    """What it shows; empty if the file says it."""


@dataclass(frozen=True, repr=False)
class Finding(Shown):
    """One cause, however often it occurred."""

    id: str
    """Kind and place: the same in every run."""
    kind: str
    """``failed``, ``break``, ``recompile``, …: a key of :data:`pellucid.findings.kinds.KINDS`."""
    place: Place | None
    """The innermost line of user code."""
    code: str
    """The text of that line; empty if the capture does not have it."""
    cause: str
    """One sentence."""
    quoted: str = ""
    """torch's wording."""
    remedy: str = ""
    """What to change, in words; empty if unknown."""
    diff: str = ""
    """The same as a unified diff of the user's file; empty if its syntax does not allow one."""
    sure: str = "certain"
    """``certain``, ``tried`` (checked against the capture's guards), ``likely``, or ``unknown``."""
    cost: Cost = Cost()
    """What the cause costs."""
    count: int = 1
    """How often it occurred; for graph breaks and recompiles, how many there are."""
    keys: tuple[str, ...] = ()
    """The compiles in which it occurred."""
    caused: tuple[str, ...] = ()
    """The compiles that it caused."""
    links: tuple[Link, ...] = field(default=())
    """Places in the dump that support it."""
    lines: tuple[Line, ...] = field(default=())
    """All lines with this cause if there are several; the first is ``place``."""
    remedies: tuple[Remedy, ...] = ()
    """Each remedy separately, the best first; ``remedy`` and ``diff`` are derived from them."""

    def __repr__(self) -> str:
        return f"<Finding {self.id}: {shorten(self.cause, 100, placeholder=' …')}>"

    def __post_init__(self) -> None:
        # A finding can be built from remedies or from words; the other form is derived.
        if self.remedies and not self.remedy:
            object.__setattr__(self, "remedy", in_words(self.remedies))
            object.__setattr__(self, "diff", diff_of(self.remedies))
        elif not self.remedies:
            object.__setattr__(self, "remedies", of_words(self.remedy))

    def with_remedies(self, remedies: Sequence[Remedy]) -> Finding:
        """Return the same finding with these remedies, those that work first."""
        return replace(self, remedies=in_order(remedies), remedy="", diff="")


def identify(kind: str, place: Place | None, more: str = "") -> str:
    """Return the id of a finding; it contains no path of this machine.

    >>> identify("break", Place("/home/me/model.py", 7), "item")
    'break:model.py:7:item'
    """
    where = (
        ""
        if place is None
        else f":{place.file.replace(chr(92), '/').rpartition('/')[2]}:{place.line}"
    )
    return f"{kind}{where}{':' + more if more else ''}"
