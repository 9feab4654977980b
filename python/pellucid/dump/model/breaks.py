# SPDX-License-Identifier: Apache-2.0
"""Parser of torch's text for a graph break; no other module parses this text.

The text is prose that differs between releases.  Parts that cannot be found are left empty; the
full text is stored with the parsed values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .events import Break, CompileKey, Place
from .names import scrub

_ANOTHER = re.compile(r"\*\*\* While handling this graph break, another [^*]*\*\*\*")
_REASON = "Graph Break Reason:"
_STACK = re.compile(r"^(?:User code traceback:|The graph break occurred in .*:)$", re.MULTILINE)
_STACKS = re.compile(
    r"^\s*(?:User code traceback|User [sS]tack|The graph break occurred in .*|from user code):$",
    re.MULTILINE,
)
_ENTRY = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>.*))?$')
_TRACEBACK = re.compile(r"^(?:NoneType: None|Traceback \(most recent call last\):)$", re.MULTILINE)
_AT = re.compile(r"^Graph break in user code at (?P<file>.+):(?P<line>\d+)$", re.MULTILINE)
_ID = re.compile(r"/gb/(gb\d+)\.html")
_LABELS = ("Explanation:", "Hint:", "Developer debug context:", "For more details")
# Frames of Python and pellucid outside the user's script.
_RUNNERS = re.compile(r"^<frozen |/runpy\.py$|/pellucid/(?:__main__|torch/api/run_script)\.py$")


@dataclass(frozen=True)
class Account:
    """One of torch's explanations of why something could not be compiled."""

    kind: str = ""
    """torch's name for this kind of break: the first line of its text."""
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""
    """torch's "Developer debug context": the objects that caused the break."""
    gb_id: str = ""
    """The number in torch's registry of breaks, such as ``GB0059``."""


def break_of(key: CompileKey, text: str) -> Break:
    """Return the event of a break from torch's text.

    >>> found = break_of(CompileKey("0/0"), '''Graph break in user code at /u/f.py:6
    ... Graph Break Reason: Encountered graph break when attempting to trace CALL: a call:
    ...
    ... Unsupported Tensor.item() call
    ...   Explanation: it gives a number.
    ...   Hint: Set it.
    ...
    ...  For more details about this graph break, please visit: https://s/gb/gb0124.html
    ... User code traceback:
    ...   File "/u/f.py", line 9, in <module>
    ...     f(x)
    ...   File "/u/f.py", line 6, in f
    ...     return x.item()
    ... ''')
    >>> found.kind, found.gb_id, found.hints, str(found.place), len(found.frames)
    ('Unsupported Tensor.item() call', 'GB0124', ('Set it.',), '/u/f.py:6', 2)
    """
    text = scrub(text)  # addresses differ between runs
    told = _TRACEBACK.split(text, maxsplit=1)[0]
    head = _STACK.split(told, maxsplit=1)[0]
    frames = stack_of(told)
    at = _AT.search(head)
    place = frames[-1] if frames else None
    if at is not None and (
        place is None or (place.file, place.line) != (at["file"], int(at["line"]))
    ):
        same = [
            frame for frame in frames if (frame.file, frame.line) == (at["file"], int(at["line"]))
        ]
        place = same[-1] if same else Place(at["file"], int(at["line"]))
    head = head.partition(_REASON)[2]
    first, *rest = accounts_of(head)
    return Break(
        key,
        text,
        kind=first.kind,
        gb_id=first.gb_id,
        hints=first.hints,
        frames=frames,
        place=place,
        reason=first.explanation,
        context=first.context,
        then=rest[-1].kind if rest else "",
    )


def accounts_of(text: str) -> tuple[Account, ...]:
    """Return torch's explanations in a text, at least one, in the order in which they occurred.

    >>> found, = accounts_of("A branch\\n  Explanation: it is.\\n  Hint: do not.\\n     Or do.")
    >>> found.kind, found.explanation, found.hints
    ('A branch', 'it is.', ('do not. Or do.',))
    """
    return tuple(_account(part) for part in _ANOTHER.split(text))


def _account(text: str) -> Account:
    head, label, found = [], "", {name: [] for name in _LABELS}  # type: ignore[var-annotated]
    for line in text.splitlines():
        stripped = line.strip()
        started = next((name for name in _LABELS if stripped.startswith(name)), "")
        if started:
            label = started
            found[label].append(stripped[len(started) :].strip())
        elif label and stripped and line[:1].isspace():
            found[label][-1] += " " + stripped
        elif label and stripped:
            label = "For more details"  # the text that follows is not part of the explanation
            found[label].append("")
        elif stripped and not label:
            head.append(stripped)
    gb_id = _ID.search(text)
    # Some releases first name the instruction at which the break occurred.
    lines = [line for line in head if not line.endswith(":")] or head
    passing = "Failed to handle graph break gracefully."
    lines = [line for line in lines if not line.startswith(passing)] or lines
    return Account(
        kind=lines[0] if lines else "",
        explanation=" ".join(found["Explanation:"]),
        hints=tuple(found["Hint:"]),
        context=" ".join(found["Developer debug context:"]),
        gb_id=gb_id[1].upper() if gb_id else "",
    )


def stack_of(text: str) -> tuple[Place, ...]:
    """Return the user's calls in one of torch's texts, outermost first.

    >>> stack_of('from user code:\\n   File "/u/f.py", line 3, in f\\n    return g(x)')
    (Place(file='/u/f.py', line=3, function='f'),)
    """
    return calls_of("\n".join(_STACKS.split(text)[1:]))


def calls_of(text: str) -> tuple[Place, ...]:
    """Return the calls of a traceback, outermost first, without the frames that run the script.

    >>> calls_of('    File "/u/f.py", line 3, in f')
    (Place(file='/u/f.py', line=3, function='f'),)
    """
    entries = filter(None, map(_ENTRY.match, text.splitlines()))
    frames = [Place(e["file"], int(e["line"]), e["function"] or "") for e in entries]
    started = [number for number, frame in enumerate(frames) if _RUNNERS.search(frame.file)]
    return tuple(frames[started[-1] + 1 :] if started else frames)
