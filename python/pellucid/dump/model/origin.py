# SPDX-License-Identifier: Apache-2.0
"""Information about generated code that the code itself lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Mapping, Sequence

from .names import is_resumed

Parameters = Mapping[int, Sequence[Sequence[str]]]
"""By byte offset: the parameters of each resume function that starts there."""


@dataclass(frozen=True)
class Origin:
    """The origin of a generated code object."""

    original: CodeType
    """The code that Dynamo compiled.  A resume function is its own original."""
    tag: str = ""
    """The slug of the compile id; empty if unknown."""
    parameters: Parameters = field(default_factory=dict)
    """The parameters of the functions that resume ``original``."""
    scope: Mapping[str, Any] = field(default_factory=dict)
    """The globals of the function."""

    def made(self, code: CodeType) -> bool:
        """Return true if Dynamo generated ``code``, rather than a bytecode hook replacing it.

        Dynamo keeps the file, line and name of what it compiles, but never the same bytecode.
        """
        if any(getattr(code, name) != getattr(self.original, name) for name in _PLACE):
            return False
        return is_resumed(code.co_name) or code.co_code != self.original.co_code


_PLACE = ("co_filename", "co_firstlineno", "co_name")
