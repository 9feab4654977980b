# SPDX-License-Identifier: Apache-2.0
"""What is known of code that Dynamo generated, beyond the code itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Mapping, Sequence

from .names import is_resumed

Parameters = Mapping[int, Sequence[Sequence[str]]]
"""By byte offset: the parameters of each resume function that starts there."""


@dataclass(frozen=True)
class Origin:
    """Where one generated code object comes from."""

    original: CodeType
    """The code that Dynamo compiled.  A resume function comes from itself."""
    tag: str = ""
    """The slug of the compile id; empty where that is not known."""
    parameters: Parameters = field(default_factory=dict)
    """Those of the functions that resume ``original``."""
    scope: Mapping[str, Any] = field(default_factory=dict)
    """The globals of the function."""

    def made(self, code: CodeType) -> bool:
        """Whether ``code`` is Dynamo's own, not what a bytecode hook has put in its place.

        Dynamo keeps the place of what it compiles, and no function as it was.
        """
        if any(getattr(code, name) != getattr(self.original, name) for name in _PLACE):
            return False
        return is_resumed(code.co_name) or code.co_code != self.original.co_code


_PLACE = ("co_filename", "co_firstlineno", "co_name")
