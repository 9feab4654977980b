# SPDX-License-Identifier: Apache-2.0
"""The resume functions that each frame calls, to link a call to the callee's file."""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Mapping

from ..model.events import CompileKey


class Resumes:
    """The calls of resume functions in transformed frames; the code is not kept alive.

    Neither lines nor names identify such a function, but the code object does.
    """

    def __init__(self) -> None:
        self._called: dict[tuple[CompileKey, int], weakref.ref[CodeType]] = {}
        self._callers: dict[int, list[tuple[CompileKey, weakref.ref[CodeType]]]] = {}
        """By the id of the code, which may be reused after the code is freed."""

    def note(self, key: CompileKey, calls: Mapping[int, CodeType]) -> None:
        """Record the code that the lines of a compile's file refer to."""
        for line, code in calls.items():
            called = weakref.ref(code)
            self._called.setdefault((key, line), called)
            self._callers.setdefault(id(code), []).append((key, called))

    def parent(self, code: CodeType, key: CompileKey) -> str:
        """Return the id of the last compile whose frame calls a code object; empty if none does."""
        for caller, called in reversed(self._callers.get(id(code), [])):
            if caller.epoch == key.epoch and called() is code:
                return caller.id or ""
        return ""

    def called(self, key: CompileKey, line: int) -> CodeType | None:
        """Return the code that a line of a compile's file calls; None if unknown."""
        called = self._called.get((key, line))
        return None if called is None else called()
