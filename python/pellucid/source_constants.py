# SPDX-License-Identifier: Apache-2.0
"""The constants in the text of a program that nothing may be assumed of: it is not parsed.

(A hostile text can make Python's parser run out of stack.)
"""

import ast
import re
from typing import Dict, Iterator, List, Optional, Pattern, Set, Tuple

MOST_READ = 16 << 20  # characters of a text

_OPEN = re.compile(r"""(?:\b(?P<prefix>[bBrRuU]{1,2}))?(?P<quote>'''|\"\"\"|'|")""")
# Where a string of these quotes may end, or has an escape.
_STOPS: Dict[str, Pattern[str]] = {
    "'": re.compile(r"['\\\n]"),
    '"': re.compile(r'["\\\n]'),
    "'''": re.compile(r"'''|\\"),
    '"""': re.compile(r'"""|\\'),
}
_NUMBERS = re.compile(r"[\[(]\s*(\d{1,3}(?:\s*,\s*\d{1,3}){15,})\s*,?\s*[\])]")
# Between two strings that are one, or that are added.
_JOINS = re.compile(r"[\s+\\()]*")


def constants_of(text: str) -> "List[str | bytes]":
    """Return the strings, the bytes, and the lists of numbers below 256 of a program.

    Strings that are joined with `+`, or stand next to each other, are one.

    >>> constants_of("x = 'the first part ' + 'and the second'; y = [b'short', 1]")
    ['the first part and the second', b'short']
    """
    text = text[:MOST_READ]
    found = [*_joined(text)]
    for match in _NUMBERS.finditer(text):
        numbers = [int(each) for each in match.group(1).split(",")]
        if max(numbers) < 256:
            found.append((match.start(), bytes(numbers)))
    found.sort(key=lambda each: each[0])
    return [value for _, value in found]


def _joined(text: str) -> "Iterator[Tuple[int, str | bytes]]":
    parts: List[str | bytes] = []
    first = end = 0
    for start, stop, value in _strings(text):
        is_next = parts and type(parts[0]) is type(value) and _JOINS.fullmatch(text, end, start)
        if parts and not is_next:
            yield first, type(parts[0])().join(parts)  # type: ignore[arg-type]
            parts = []
        if not parts:
            first = start
        parts.append(value)
        end = stop
    if parts:
        yield first, type(parts[0])().join(parts)  # type: ignore[arg-type]


def _strings(text: str) -> "Iterator[Tuple[int, int, str | bytes]]":
    """Yield (start, end, value) of each string, in one pass over the text."""
    at = 0
    unclosed: Set[str] = set()
    while True:
        match = _OPEN.search(text, at)
        if match is None:
            return
        quote = match["quote"]
        at = match.end()
        if quote in unclosed:
            continue
        end = _end_of(text, at, quote)
        if end is None:
            if len(quote) == 3:
                unclosed.add(quote)  # neither is any after it
            else:
                at = (text.find("\n", at) + 1) or len(text)
            continue
        value = _value(match["prefix"] or "", text[at:end], text[match.start() : end + len(quote)])
        at = end + len(quote)
        if value is not None:
            yield match.start(), at, value


def _end_of(text: str, at: int, quote: str) -> Optional[int]:
    while True:
        stop = _STOPS[quote].search(text, at)
        if stop is None or stop.group() == "\n":
            return None
        if stop.group() == quote:
            return stop.start()
        at = stop.end() + 1


def _value(prefix: str, inside: str, whole: str) -> "Optional[str | bytes]":
    if "\\" in inside and "r" not in prefix.lower():
        try:
            value = ast.literal_eval(whole)
        except (ValueError, SyntaxError, MemoryError):
            return None
        return value if isinstance(value, (str, bytes)) else None
    if "b" not in prefix.lower():
        return inside
    return inside.encode("ascii") if inside.isascii() else None
