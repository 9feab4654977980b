# SPDX-License-Identifier: Apache-2.0
"""A callback right before Dynamo compiles a frame."""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Mapping

from .compat import resolve

BeforeFrame = Callable[[CodeType, Mapping[str, Any]], None]


def before_frames(do: BeforeFrame) -> bool:
    """Call a function with the code and locals of each frame before it is compiled.

    Returns:
        False if this torch has no place for the callback.
    """
    converter = resolve("torch._dynamo.convert_frame:ConvertFrameAssert")
    if converter is None:
        return False
    convert = converter.__call__

    def call(self: Any, frame: Any, *args: Any, **options: Any) -> Any:
        do(frame.f_code, frame.f_locals)
        return convert(self, frame, *args, **options)

    converter.__call__ = call
    return True
