"""Which of the program's lines led to a guard that a line of a library's was made for.

torch words a guard with the innermost line alone.  Where that is a library's, the calls that led to
it are in the guard itself, which is looked at while torch makes its check of all of them.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any, Mapping, NamedTuple, Sequence

from ..model.events import Place
from ..model.failures import is_own
from .shapes import GUARDS_MADE, SHAPES

EVENT = "dynamo_cpp_guards_str"
"""The event that torch sends from where it has the guards of a version."""


class Way(NamedTuple):
    """The innermost line that led to a guard, and the innermost that is the program's own."""

    line: str
    """The file's name and the line: ``linear.py:134``."""
    own: Place


Ways = Mapping[str, Sequence[Way]]
"""By the source of what a guard is about, as torch words it."""


def guard_ways() -> Ways:
    """Return how torch came to the guards that it makes now, those of the program's lines apart."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(24):
        if frame is None:
            break
        local = frame.f_locals if frame.f_code.co_name == "__init__" else {}
        if type(local.get("self")).__name__ == GUARDS_MADE[0]:
            guards = next((local[name] for name in GUARDS_MADE[1:] if name in local), None)
            if guards is not None:
                return _ways(guards)
        frame = frame.f_back
    SHAPES.missed("guards as they are made")
    return {}


def _ways(guards: Any) -> Ways:
    found: dict[str, list[Way]] = {}
    own: dict[str, bool] = {}
    for guard in guards:
        calls = list(getattr(guard, "user_stack", None) or ())
        for call in reversed(calls):
            if call.filename not in own:
                own[call.filename] = is_own(call.filename)
            if own[call.filename]:
                if call is not calls[-1]:
                    line = f"{os.path.basename(calls[-1].filename)}:{calls[-1].lineno}"
                    way = Way(line, Place(call.filename, int(call.lineno or 0), call.name))
                    known = found.setdefault(str(guard.name), [])
                    if way not in known:
                        known.append(way)
                break
    return found


def way_to(ways: Ways, source: str, told: str) -> Place | None:
    """Return the program's line that led to a guard of a source; ``told`` is torch's line for it.

    >>> ways = {"L['x']": [Way("a.py:1", Place("/m.py", 3)), Way("b.py:2", Place("/m.py", 5))]}
    >>> way_to(ways, "L['x']", "return f(x)  # nn/b.py:2 in forward"), way_to(ways, "L['y']", "")
    (Place(file='/m.py', line=5, function=''), None)
    """
    for way in ways.get(source, ()):
        if f"{way.line} in " in told:
            return way.own
    return None
