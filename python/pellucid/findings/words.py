# SPDX-License-Identifier: Apache-2.0
"""Findings in words: failed guards, numbers, places."""

from __future__ import annotations

import re
from typing import Sequence

from pellucid.brief import counted
from pellucid.dump.model.cells import cell_of, located
from pellucid.dump.model.events import GuardFailure, Place

from .dispatch import keys_in_words
from .finding import Finding


def short(place: Place | None) -> str:
    """Return a place with only the name of its file.

    >>> short(Place("/home/me/model.py", 7))
    'model.py:7'
    """
    if place is None:
        return ""
    return located(place) if cell_of(place.file) else f"{file_name(place.file)}:{place.line}"


def where(finding: Finding, most: int = 4) -> str:
    """Return the lines of a finding in short form.

    >>> from .finding import Finding, Line
    >>> lines = [Place("/home/me/model.py", line) for line in (7, 9, 12)]
    >>> found = Finding("", "break", lines[0], "", "", lines=tuple(Line(at, "") for at in lines))
    >>> where(found), where(found, 2)
    ('model.py:7, 9, 12', 'model.py:7, 9 and 1 more line')
    """
    places = [line.place for line in finding.lines[:most]] or filter(None, [finding.place])
    told, file = [], ""
    for place in places:
        told.append(str(place.line) if place.file == file else short(place))
        file = place.file
    rest = len(finding.lines) - most
    return ", ".join(told) + (f" and {counted(rest, 'more line')}" if rest > 0 else "")


def file_name(file: str) -> str:
    """Return the name of a notebook cell, or of a file (Unix or Windows) without its folders.

    >>> file_name(r"C:\\me\\model.py")
    'model.py'
    """
    return cell_of(file) or file.replace("\\", "/").rpartition("/")[2]


def named(names: Sequence[str], most: int) -> str:
    """Return names as code, and the number left out.

    >>> named(["x", "y", "z"], 2)
    '`x`, `y` and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"`{name}`" for name in names[:most]) + more


def times(number: int) -> str:
    """Return a number of times, in words.

    >>> times(1), times(2), times(3)
    ('once', 'twice', '3 times')
    """
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


_TORCH, _WORD = re.compile(r"torch (?!\.)"), re.compile(r"[a-z][a-z'-]*(?= |$)")


def sentence(text: str) -> str:
    """Return a cause or a remedy as a sentence; code names keep their case.

    >>> sentence("pass `n` as a tensor"), sentence("torch gives no reason")
    ('Pass `n` as a tensor.', 'PyTorch gives no reason.')
    >>> sentence("torch._assert does it."), sentence("")
    ('torch._assert does it.', '')
    """
    text = text.strip()
    if _TORCH.match(text):
        text = f"PyTorch{text[5:]}"
    elif _WORD.match(text):
        text = text[0].upper() + text[1:]
    return text if not text or text[-1] in ".?!…:" else f"{text}."


_INDEXED = re.compile(r"\.(size|stride)\(\)\[(\d+)\]")


def in_sentence(source: str) -> str:
    """Return the source of a guard for a sentence.

    >>> in_sentence("x.size(0)"), in_sentence("value of line 9.size(0)")
    ('`x.size(0)`', '`size(0)` of the value of line 9')
    >>> in_sentence("value of line 297 of logging.py.shape")
    '`shape` of the value of line 297 of logging.py'
    """
    of_line = re.fullmatch(r"(value of line \d+(?: of [^\s.]+\.py)?)(?:\.(.+))?", source)
    if of_line is None:
        return f"`{source}`"
    return f"`{of_line[2]}` of the {of_line[1]}" if of_line[2] else f"the {of_line[1]}"


def difference(failure: GuardFailure, actual: str = "") -> str:
    """Return how a call differed from what the compiled version expects.

    >>> difference(GuardFailure(None, "size", "x.size(0)", "2", "5", "", None))
    '`x.size(0)` changed from 2 to 5'
    """
    came = actual or failure.actual
    source, expected = in_sentence(failure.source), failure.expected
    if failure.kind == "dispatch keys":
        told = keys_in_words(expected, came)[0]
        return f"{source} changed: {told}" if told else f"the dispatch keys of {source} changed"
    if failure.kind in ("shape", "condition"):
        told = _INDEXED.sub(r".\1(\2)", failure.source)
        return f"`{told}` no longer holds"
    if failure.kind == "keys":
        return f"the keys of {source} changed: {expected}"
    if failure.kind == "key":
        return f"the keys of `{failure.source.partition('[')[0]}` changed ({source})"
    if failure.kind == "type":
        told = f": it was {expected}" if expected else f": it is {came}" if came else ""
        return f"the type of {source} changed{told}"
    if failure.kind == "identity":
        return f"{source} is a different object"
    if failure.kind == "length":
        return f"`len({failure.source})` changed: it was {expected}"
    if failure.kind == "rank":
        return f"the number of dimensions of {source} changed from {expected} to {came}"
    if failure.kind == "none":
        return f"{source} is {'now' if expected == 'not None' else 'no longer'} None"
    if failure.kind == "global state":
        parts = [part.replace("_", " ") for part in expected.split()]
        state = ", ".join(parts) or "grad mode, autocast, default device, …"
        return f"the state of torch changed ({state})"
    if failure.kind == "marked":
        return "a tensor is now marked dynamic"
    if failure.kind == "alias":
        return f"different arguments are the same tensor ({source})"
    if failure.kind == "backend":
        return "the backend is different, or was created again"
    if failure.kind == "gone":
        what = source if failure.source else "an object that it was compiled for"
        return f"{what} was freed, and its compiled version with it"
    if failure.kind == "iterator":
        return f"the loop's iterator has advanced ({expected})"
    if failure.source and expected:
        if came:
            return f"{source} changed from {expected} to {came}"
        return f"{source} changed: it was {expected}"
    return failure.text or "a guard failed"
