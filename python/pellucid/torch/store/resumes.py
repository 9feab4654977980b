# SPDX-License-Identifier: Apache-2.0
"""Which frame calls which resume function, so that a call leads to the file of what it calls."""

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
    """The calls of resume functions in transformed frames; none of the code is kept alive.

    Lines do not tell two such functions apart, and neither do names: the code object does.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def note(self, key: CompileKey, calls: Mapping[int, CodeType]) -> None:
        """Keep which code the lines of a compile's file name."""
        # A new list, so that another thread that reads the old one is not disturbed.
        new = [_Call(key, line, weakref.ref(code)) for line, code in calls.items()]
        self._calls = self._calls + new

    def parent(self, code: CodeType, key: CompileKey) -> str:
        """Return the id of the last compile whose frame calls a code; empty if none does."""
        for call in reversed(self._calls):
            if call.key.epoch == key.epoch and call.code() is code:
                return call.key.id or ""
        return ""

    def called(self, key: CompileKey, line: int) -> CodeType | None:
        """Return the code that a line of a compile's file calls; None where that is not known."""
        for call in self._calls:
            if call.key == key and call.line == line:
                return call.code()
        return None
