# SPDX-License-Identifier: Apache-2.0
"""Differences between two captures: as plain values, in words, and as JSON."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass, field

from pellucid.brief import Report, one_line

KINDS = (
    "process",
    "version",
    "setting",
    "operator",
    "skipped",
    "frame",
    "break",
    "recompile",
    "guard",
    "graph",
    "kernel",
    "cache key",
    "finding",
)
"""The kinds of changes, in the order in which they are listed."""
_SHOWN = 12


@dataclass(frozen=True)
class Line:
    """One line of a difference, from the first capture, the second, or both."""

    sign: str
    """``-`` if only the first capture has it, ``+`` if only the second has it."""
    text: str
    file: str = ""
    """The dumped file that contains it; empty for none."""
    line: int = 0


@one_line
@dataclass(frozen=True)
class Change:
    """One difference between the captures."""

    kind: str
    """One of :data:`KINDS`."""
    where: str
    """The subject: a function with its compile id, or the name of a setting."""
    words: str
    """One sentence."""
    lines: tuple[Line, ...] = ()
    """The difference itself."""
    follows: tuple[str, ...] = ()
    """What differs as a result: later graphs, kernels, parts of cache keys."""
    also: tuple[str, ...] = ()
    """Where else the same difference was found."""
    beside: tuple[tuple[str, str], ...] = ()
    """The dumped files to read side by side: the first capture's and the second's."""
    process: str = ""
    """The rank or child process; empty for the first process."""


@dataclass(frozen=True, repr=False)
class Comparison(Report):
    """The differences between two captures; true if there are any."""

    first: str
    """The directory of the first capture."""
    second: str
    changes: tuple[Change, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.changes)

    def of(self, kind: str) -> list[Change]:
        """Return the changes of one kind, in order."""
        return [change for change in self.changes if change.kind == kind]

    def as_json(self) -> str:
        """Return the comparison as JSON."""
        plain = {"tool": "pellucid", "different": bool(self), **asdict(self)}
        return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"

    def __str__(self) -> str:
        """Return the comparison in words; empty if there is no difference."""
        if not self.changes:
            return ""
        count = len(self.changes)
        lines = [f"{count} difference{'' if count == 1 else 's'}", f"- {self.first}"]
        lines += [f"+ {self.second}"]
        for number, change in enumerate(self.changes, 1):
            lines += ["", *_told(number, change)]
        return "\n".join(lines)


def _told(number: int, change: Change) -> list[str]:
    process = f" ({change.process})" if change.process else ""
    head = f"{number}. {change.kind}{process}: {change.where}"
    lines = [head, *_wrapped(change.words)]
    for line in change.lines[:_SHOWN]:
        place = f"  ({line.file}:{line.line})" if line.file and line.line else ""
        lines.append(f"     {line.sign} {line.text}{place}")
    if len(change.lines) > _SHOWN:
        lines.append(f"       and {len(change.lines) - _SHOWN} lines more")
    if change.also:
        lines += _wrapped("also in " + ", ".join(change.also))
    if change.follows:
        lines += _wrapped("as a result: " + ", ".join(change.follows))
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 96, initial_indent="   ", subsequent_indent="   ")
