# SPDX-License-Identifier: Apache-2.0
"""The user's lines that led to guards in torch's code or another library's.

torch's guard text has only the innermost line.  The calls that led to it are in the guard object,
which is read while torch builds its check function.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from types import FrameType
from typing import Any, Container, Mapping, NamedTuple, Sequence

from pellucid.dump.model.events import Place
from pellucid.dump.model.failures import is_own

from .shapes import GUARDS_MADE, SHAPES

EVENT = "dynamo_cpp_guards_str"
"""The event that torch sends when it has the guards of a version."""


class Way(NamedTuple):
    """The innermost line that led to a guard, and the enclosing calls outside torch."""

    line: str
    """The file name and line: ``linear.py:134``."""
    calls: tuple[Place, ...]
    """Innermost first."""


Ways = Mapping[str, Sequence[Way]]
"""By the guarded value's source, in torch's text."""
_MOST = 6
_TORCHS = os.sep + os.path.join("torch", "")


def guard_ways() -> Ways:
    """Return how torch reached the guards that it is building, except those on user lines."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(25):
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
    for guard in guards:
        calls = list(getattr(guard, "user_stack", None) or ())
        if calls and not is_own(calls[-1].filename):
            line = f"{os.path.basename(calls[-1].filename)}:{calls[-1].lineno}"
            places = (
                Place(call.filename, int(call.lineno or 0), call.name)
                for call in reversed(calls)
                if is_own(call.filename) or _TORCHS not in call.filename
            )
            way = Way(line, tuple(itertools.islice(places, _MOST)))
            known = found.setdefault(str(guard.name), [])
            if way.calls and way not in known:
                known.append(way)
    return found


def way_to(ways: Ways, source: str, told: str, files: Container[str]) -> Place | None:
    """Return the line that led to a guard of a source: in one of ``files``, or in user code.

    ``told`` is torch's line for the guard.

    >>> calls = (Place("/lib/b.py", 2), Place("/m.py", 5))
    >>> ways = {"L['x']": [Way("a.py:1", (Place("/m.py", 3),)), Way("b.py:2", calls)]}
    >>> told = "return f(x)  # nn/b.py:2 in forward"
    >>> way_to(ways, "L['x']", told, ["/m.py"]), way_to(ways, "L['y']", told, [])
    (Place(file='/m.py', line=5), None)
    """
    while source:
        for way in ways.get(source, ()):
            if f"{way.line} in " in told:
                known = (call for call in way.calls if call.file in files)
                own = (call for call in way.calls if is_own(call.file))
                return next(known, None) or next(own, None)
        source = _above(source)
    return None


def _above(source: str) -> str:
    """Return the parent of a value, which may have caused the guard.

    >>> _above("L['m'].__dict__['a']"), _above("list(dict.keys(L['m']._modules))[1]"), _above("L")
    ("L['m'].__dict__", "L['m']._modules", '')
    """
    keys = _KEYS.match(source)
    if keys is not None:
        return keys[1]
    return source[: max(source.rfind("."), source.rfind("["), 0)]


_KEYS = re.compile(r"list\(dict\.keys\((.*)\)\)\[\d+\]\Z", re.DOTALL)
