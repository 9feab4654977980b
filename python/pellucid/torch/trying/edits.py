# SPDX-License-Identifier: Apache-2.0
"""A unified diff of one file, applied to its text, and what became of each line."""

from __future__ import annotations

import re
from typing import NamedTuple

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class DoesNotApply(ValueError):
    """A diff is not one of this text; the message says where."""


class Edited(NamedTuple):
    """The text that a diff makes of another one."""

    text: str
    moves: tuple[tuple[int, int], ...]
    """From which line of the old text on lines stand how much further below, ascending."""

    def line(self, old: int) -> int:
        """Return where a line of the old text is now.

        >>> Edited("", ((5, -2),)).line(4), Edited("", ((5, -2),)).line(6)
        (4, 4)
        """
        return old + sum(by for first, by in self.moves if old >= first)


def apply(text: str, diff: str) -> Edited:
    """Return the text with the changes of a unified diff.

    Raises:
        DoesNotApply: the diff has no hunk, or a line of the text is not as the diff has it.

    >>> apply("a\\nb\\nc\\n", "@@ -1,3 +1,2 @@\\n a\\n-b\\n c").text
    'a\\nc\\n'
    """
    lines = text.split("\n")
    result: list[str] = []
    moves: list[tuple[int, int]] = []
    at, rest = 0, diff.split("\n")
    if not any(_HUNK.match(line) for line in rest):
        raise DoesNotApply("not a unified diff: no line begins with @@")
    while rest:
        head = _HUNK.match(rest.pop(0))
        if head is None:
            continue
        first = int(head[1]) - (0 if head[2] == "0" else 1)
        result += lines[at:first]
        at = first
        while rest and not _HUNK.match(rest[0]) and rest[0][:1] in ("", " ", "-", "+"):
            sign, line = rest[0][:1], rest.pop(0)[1:]
            if not sign and not rest:
                break  # the end of the diff, not an empty line of it
            if sign == "+":
                result.append(line)
                moves.append((at + 1, 1))
                continue
            if at >= len(lines) or lines[at].rstrip("\r") != line:
                there = repr(lines[at]) if at < len(lines) else "the end of the file"
                raise DoesNotApply(f"line {at + 1} is {there}, not {line!r}")
            at += 1
            if sign == "-":
                moves.append((at + 1, -1))
            else:
                result.append(lines[at - 1])
    return Edited("\n".join([*result, *lines[at:]]), tuple(moves))
