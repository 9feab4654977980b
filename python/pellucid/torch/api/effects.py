# SPDX-License-Identifier: Apache-2.0
"""Differences in the state that eager and compiled code leave, and the lines that cause them."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any, Callable, Mapping

import torch

from pellucid.dump.model.differences import StateChange
from pellucid.dump.model.events import Place

from ..capture.sources import is_users
from .closeness import Tolerance
from .generators import GENERATORS, OF_PYTHON, random_state
from .program_state import ProgramState
from .reach import HIDDEN
from .watch import values_of

_ABSENT = object()
_SIZED = re.compile(r"\w+ of (\d+)\Z")
_MOST = 50


def changed_state(
    before: Mapping[str, Any],
    eager: Mapping[str, Any],
    other: Mapping[str, Any],
    tolerance: Tolerance,
) -> tuple[list[StateChange], list[str]]:
    """Compare the states after two runs.

    Returns:
        The changes that Python code can see (the outermost of nested ones), and the paths of the
        tensors that differ.
    """
    changes: list[StateChange] = []
    tensors: list[str] = []
    for path in dict.fromkeys([*eager, *other]):
        one, two = eager.get(path, _ABSENT), other.get(path, _ABSENT)
        if not _differ(one, two, tolerance):
            continue
        if path.startswith((*GENERATORS, *OF_PYTHON)):
            states = ["its old state", "a new state"]
            start = before.get(path)
            exact = Tolerance(0.0, 0.0)
            left, other_left = (states[_differ(start, state, exact)] for state in (one, two))
            other_left = "a different new state" if left == other_left else other_left
            changes.append(StateChange(path, states[0], left, other_left))
        elif isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
            tensors.append(path)
        elif not any(_leads(change.name, path) for change in changes):
            first, left, other_left = (_told(path, image) for image in (before, eager, other))
            changes.append(StateChange(path, first, left, other_left))
    return changes[:_MOST], tensors


def _leads(owner: str, path: str) -> bool:
    return path.startswith(owner) and path[len(owner) : len(owner) + 1] in ("[", ".", "{")


def _differ(one: Any, other: Any, tolerance: Tolerance) -> bool:
    if one is _ABSENT or other is _ABSENT:
        return True
    if isinstance(one, tuple) or isinstance(other, tuple):
        return bool(one != other)
    return tolerance.part_values(one, other)


def _told(path: str, image: Mapping[str, Any]) -> str:
    value = image.get(path, _ABSENT)
    if value is _ABSENT:
        return "no value"
    if isinstance(value, torch.Tensor):
        return str(values_of("a tensor", value)).replace("a tensor: ", "")
    sized = _SIZED.match(value) if isinstance(value, str) else None
    if sized:
        kind = value.partition(" ")[0]
        return f"a {kind} of {sized[1]} item{'' if sized[1] == '1' else 's'}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def changing_line(
    state: ProgramState, path: str, run: Callable[[], Any]
) -> tuple[Place | None, str]:
    """Find the user's line that changes the value at a path, by running the program once more.

    The program's state is restored before and after.

    Args:
        state: the state that contains the value.
        path: the path of the value.
        run: runs the function; its exceptions are ignored.
    """
    state.restore()
    slot, owner = state.slot(path), state.owner(path)
    if slot is None and owner is None and path not in OF_PYTHON:
        return None, ""

    def now() -> Any:
        if path in OF_PYTHON:
            return random_state().get(path)
        if slot is not None and slot.read() is not owner:
            return id(slot.read())
        return _fingerprint(owner)

    watch = _Lines(now)
    before = sys.gettrace()
    sys.settrace(watch.enter)
    try:
        run()
    except Exception:
        pass
    finally:
        sys.settrace(before)
        state.restore()
    return watch.found, watch.code


def _fingerprint(owner: Any) -> Any:
    if isinstance(owner, dict):
        return [(id(key), id(value)) for key, value in owner.items()]
    if isinstance(owner, (list, tuple, set, frozenset)) or hasattr(owner, "maxlen"):
        return [id(item) for item in owner]
    own = getattr(owner, "__dict__", {})
    hidden = [own[name] for name in HIDDEN if isinstance(owner, torch.nn.Module) and name in own]
    return [(key, id(value)) for held in (own, *hidden) for key, value in held.items()]


class _Lines:
    """Checks for a change after every line of user code."""

    def __init__(self, now: Callable[[], Any]) -> None:
        self.found: Place | None = None
        self.code = ""
        self._now, self._last = now, now()

    def enter(self, frame: FrameType, event: str, _: Any) -> Any:
        if self.found is not None or not is_users(frame.f_code.co_filename):
            return None
        line = frame.f_lineno

        def step(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal line
            if self.found is None and self._now() != self._last:
                self._tell(frame, line)
            line = frame.f_lineno
            return step

        return step

    def _tell(self, frame: FrameType, line: int) -> None:
        import linecache

        code = frame.f_code
        self.found = Place(code.co_filename, line, code.co_name)
        self.code = linecache.getline(code.co_filename, line).strip()
