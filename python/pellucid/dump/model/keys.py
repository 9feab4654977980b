# SPDX-License-Identifier: Apache-2.0
"""The key of a compile and the place of a line, which nearly all events have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .names import frame_part, slug

# Marks a field whose value is in a file of the dump, so the record omits it.
IN_FILE: dict[str, Any] = {"in_file": True}
# Marks a field that the record omits if it has its default value.
SPARSE: dict[str, Any] = {"sparse": True}


@dataclass(frozen=True)
class CompileKey:
    """A compile: torch's compile id, and the number of resets before it.

    ``torch._dynamo.reset()`` starts the frame numbers again; ``epoch`` counts how often that was
    seen inside one capture.
    """

    id: str | None
    epoch: int = 0

    @property
    def slug(self) -> str:
        return slug(self.id, self.epoch)

    @property
    def frame(self) -> str:
        return frame_part(self.id, self.epoch)

    def __str__(self) -> str:
        label = "no compile id" if self.id is None else self.id
        return f"{label} (after reset {self.epoch})" if self.epoch else label


@dataclass(frozen=True)
class Place:
    """A place in the user's program."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
