# SPDX-License-Identifier: Apache-2.0
"""The current position of a compiling thread, seen from another thread: a user line.

Only frames are read, and of Dynamo's frames one local: the tracer, which has the traced code and
line.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import NamedTuple

from pellucid.dump.model.events import Place
from pellucid.dump.model.failures import is_own

from .shapes import SHAPES, TRACER

_TRACER = os.path.join("torch", "_dynamo", "symbolic_convert.py")
_OUTSIDE = (
    os.path.join("torch", "_dynamo", "convert_frame.py"),
    os.path.join("torch", "autograd", "graph.py"),
)
"""Files of torch; frames outside them do not belong to the compile."""
_DEEPEST = 2000


class Doing(NamedTuple):
    """The position of a thread."""

    place: Place
    runs: bool
    """Whether that line is executing; otherwise Dynamo is tracing it."""


def doing(thread: int) -> Doing | None:
    """Return the position of a thread's compile in user code; None if there is none."""
    frame: FrameType | None = sys._current_frames().get(thread)
    traced: Place | None = None
    for _ in range(_DEEPEST):
        if frame is None or frame.f_code.co_filename.endswith(_OUTSIDE):
            break
        code = frame.f_code
        if code.co_filename.endswith(_TRACER):
            found = _traced(frame)
            if found is not None and is_own(found.file):
                return Doing(found, False)
            traced = traced or found
        elif traced is None and is_own(code.co_filename) and not code.co_filename.startswith("<"):
            return Doing(Place(code.co_filename, frame.f_lineno, code.co_name), True)
        frame = frame.f_back
    return None if traced is None else Doing(traced, False)


def is_alive(thread: int) -> bool:
    """Return true if there is such a thread."""
    return thread in sys._current_frames()


def _traced(frame: FrameType) -> Place | None:
    """Return the line that Dynamo is tracing, from the frame of its instruction loop."""
    method, owner, code_name, line_name = TRACER
    if frame.f_code.co_name != method:
        return None
    tracer = frame.f_locals.get(owner)
    code, line = getattr(tracer, code_name, None), getattr(tracer, line_name, None)
    if not isinstance(code, CodeType) or not isinstance(line, int):
        SHAPES.missed("line that Dynamo traces")
        return None
    return Place(code.co_filename, line, code.co_name)
