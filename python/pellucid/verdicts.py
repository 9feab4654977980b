# SPDX-License-Identifier: Apache-2.0
"""The data that accompanies a source: the verdict, its lines, and diagnostics."""

import dataclasses
from typing import Literal, NamedTuple, Optional, Tuple

Status = Literal["identical", "equivalent", "unproven"]
Tier = Literal["recompiled", "relowered"]
_RANKS = {"unproven": 0, "equivalent": 1, "identical": 2}


class LineMapEntry(NamedTuple):
    """The origin of a line of the source; lines are counted from 1, offsets in bytes."""

    line: int
    original_line: Optional[int]
    offset: Optional[int]
    code: str  # the path of the code object, "<module>/f/<lambda>"


class Diagnostic(NamedTuple):
    """A part of the result that could not be recovered as usual.

    If a code object is `refused`, its source is missing. Otherwise it is written as a loop over a
    state, and the message says why no structure was found.
    """

    code: str
    offset: int
    message: str
    refused: bool = True


class CodeVerdict(NamedTuple):
    """The verdict on one code object; the offsets are those of the first difference."""

    status: Status
    code: str
    reason: str
    offset: int
    recompiled_offset: int
    number: int = 0  # of the code object, since several may have the same path

    @property
    def place(self) -> str:
        """Return where the proof stops, and why, in words."""
        return f"{self.code}: {self.reason} at byte 0x{self.offset:x}"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """How far the source is proven to mean the same as the bytecode.

    `status` is "identical", "equivalent" or "unproven". `tier` is what was compared:
    "recompiled" (the source, compiled by a matching CPython), "relowered" (the syntax tree of the
    source, compiled by pellucid itself; never "identical") or "none". `reason` is empty unless
    the status is "unproven".
    """

    status: Status
    tier: Literal["recompiled", "relowered", "none"]
    reason: str = ""
    codes: Tuple[CodeVerdict, ...] = dataclasses.field(default=(), repr=False)

    def at_least(self, status: Status) -> bool:
        """Return true if the verdict is `status` or better.

        >>> Verdict("identical", "recompiled").at_least("equivalent")
        True
        """
        return _RANKS[self.status] >= _RANKS[status]

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}" if self.reason else self.status
