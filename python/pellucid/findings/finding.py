# SPDX-License-Identifier: Apache-2.0
"""What a finding is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Sequence

from pellucid.torch.model.capture import Shown
from pellucid.torch.model.events import Place

from .remedy import Remedy, diff_of, in_order, in_words, of_words


@dataclass(frozen=True)
class Cost:
    """What a cause costs, as far as the capture knows."""

    seconds: float | None = None
    """The compile time that it caused, counted for this finding alone; it varies between runs."""


@dataclass(frozen=True)
class Line:
    """A line of the program that a finding is about."""

    place: Place
    code: str
    """Its text; empty where the capture does not have it."""


@dataclass(frozen=True)
class Link:
    """A place in the dump that shows what a finding says."""

    file: str
    line: int = 0
    """0 for the file as a whole."""
    what: str = ""


@dataclass(frozen=True, repr=False)
class Finding(Shown):
    """One cause, however often it was met."""

    id: str
    """The same from run to run: what it is, and where."""
    kind: str
    """``failed``, ``break``, ``recompile``, …: a key of :data:`pellucid.findings.kinds.KINDS`."""
    place: Place | None
    """The innermost line of the program's own."""
    code: str
    """The text of that line; empty where the capture does not have it."""
    cause: str
    """One sentence."""
    quoted: str = ""
    """torch's own words."""
    remedy: str = ""
    """What to change, in words; empty when that is not known."""
    diff: str = ""
    """The same as a unified diff of the program's file; empty where its syntax allows none."""
    sure: str = "certain"
    """``certain``, ``tried`` (on the capture's guards), ``likely``, or ``unknown``."""
    cost: Cost = Cost()
    count: int = 1
    """How often it was met; of graph breaks and recompiles, how many they are."""
    keys: tuple[str, ...] = ()
    """The compiles concerned."""
    caused: tuple[str, ...] = ()
    """The compiles that exist because of it."""
    links: tuple[Link, ...] = field(default=())
    lines: tuple[Line, ...] = field(default=())
    """All lines of the same cause, where there are several; the first is ``place``."""
    remedies: tuple[Remedy, ...] = ()
    """Each remedy apart, the best first; ``remedy`` and ``diff`` are made from them."""

    def __repr__(self) -> str:
        return f"<Finding {self.id}: {shorten(self.cause, 100, placeholder=' …')}>"

    def __post_init__(self) -> None:
        # Either way to say it gives the other.
        if self.remedies and not self.remedy:
            object.__setattr__(self, "remedy", in_words(self.remedies))
            object.__setattr__(self, "diff", diff_of(self.remedies))
        elif not self.remedies:
            object.__setattr__(self, "remedies", of_words(self.remedy))

    def with_remedies(self, remedies: Sequence[Remedy]) -> Finding:
        """Return the same finding with these remedies, those that work first."""
        return replace(self, remedies=in_order(remedies), remedy="", diff="")


def identify(kind: str, place: Place | None, more: str = "") -> str:
    """Return the id of a finding: no path of the machine's is in it.

    >>> identify("break", Place("/home/me/model.py", 7), "item")
    'break:model.py:7:item'
    """
    where = (
        ""
        if place is None
        else f":{place.file.replace(chr(92), '/').rpartition('/')[2]}:{place.line}"
    )
    return f"{kind}{where}{':' + more if more else ''}"
