# SPDX-License-Identifier: Apache-2.0
"""The resume functions that each frame calls, to link a call to the callee's file."""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Mapping, NamedTuple

from ..model.events import CompileKey


class _Call(NamedTuple):
    key: CompileKey
    line: int
    code: weakref.ref[CodeType]


class Resumes:
    """The calls of resume functions in transformed frames; the code is not kept alive.

    Neither lines nor names identify such a function, but the code object does.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def note(self, key: CompileKey, calls: Mapping[int, CodeType]) -> None:
        """Record the code that the lines of a compile's file refer to."""
        # A new list, so that concurrent readers of the old one are not affected.
        new = [_Call(key, line, weakref.ref(code)) for line, code in calls.items()]
        self._calls = self._calls + new

    def parent(self, code: CodeType, key: CompileKey) -> str:
        """Return the id of the last compile whose frame calls a code object; empty if none does."""
        for call in reversed(self._calls):
            if call.key.epoch == key.epoch and call.code() is code:
                return call.key.id or ""
        return ""

    def called(self, key: CompileKey, line: int) -> CodeType | None:
        """Return the code that a line of a compile's file calls; None if unknown."""
        for call in self._calls:
            if call.key == key and call.line == line:
                return call.code()
        return None
