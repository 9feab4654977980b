# SPDX-License-Identifier: Apache-2.0
"""Application of a unified diff to the text of one file, with the new position of each line."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class DoesNotApply(ValueError):
    """A diff does not match this text; the message says where."""


class Edited(NamedTuple):
    """The result of applying a diff."""

    text: str
    moves: tuple[tuple[int, int], ...]
    """The first old line of each shift, and the number of lines it moves by, ascending."""

    def line(self, old: int) -> int:
        """Return the new position of a line of the old text.

        >>> Edited("", ((5, -2),)).line(4), Edited("", ((5, -2),)).line(6)
        (4, 4)
        """
        return old + sum(by for first, by in self.moves if old >= first)


def apply(text: str, diff: str) -> Edited:
    """Return the text with a unified diff applied, or several diffs of one text.

    Raises:
        DoesNotApply: the diff has no hunk, or a line of the text differs from the diff.

    >>> apply("a\\nb\\nc\\n", "@@ -1,3 +1,2 @@\\n a\\n-b\\n c").text
    'a\\nc\\n'
    """
    lines = text.split("\n")
    removed: set[int] = set()
    added: dict[int, list[str]] = {}
    hunks = list(_hunks(diff.split("\n")))
    if not hunks:
        raise DoesNotApply("not a unified diff: no line begins with @@")
    for at, body in hunks:
        for sign, line in body:
            if sign == "+":
                added.setdefault(at, []).append(line)
                continue
            if at >= len(lines) or lines[at].rstrip("\r") != line:
                there = repr(lines[at]) if at < len(lines) else "the end of the file"
                raise DoesNotApply(f"line {at + 1} is {there}, not {line!r}")
            if sign == "-":
                removed.add(at)
            at += 1
    result: list[str] = []
    for number, line in enumerate([*lines, ""]):
        result += added.get(number, ())
        result += [line] if number < len(lines) and number not in removed else []
    moves = [(number + 1, len(new)) for number, new in added.items()]
    moves += [(number + 2, -1) for number in removed]
    return Edited("\n".join(result), tuple(sorted(moves)))


def _hunks(diff: list[str]) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield each hunk: the number of lines before it, and its lines with their signs."""
    while diff:
        head = _HUNK.match(diff.pop(0))
        if head is None:
            continue
        left, made = int(head[2] or 1), int(head[4] or 1)
        before = int(head[1]) - (0 if head[2] == "0" else 1)
        body: list[tuple[str, str]] = []
        while diff and (left or made):
            line = diff.pop(0)
            sign = line[:1] or " "
            left -= sign in " -"
            made -= sign in " +"
            body.append((sign, line[1:]))
        yield before, body
