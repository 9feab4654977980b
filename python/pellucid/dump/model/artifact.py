# SPDX-License-Identifier: Apache-2.0
"""The file that a capture was read from."""

from __future__ import annotations

from dataclasses import dataclass, field

from .keys import SPARSE


@dataclass(frozen=True)
class Artifact:
    """The file from which a capture was read: compiled code that torch saved."""

    name: str
    kind: str
    """What it is, in words."""
    size: int
    """In bytes."""
    lacks: tuple[str, ...] = ()
    """What a capture contains and this file does not."""
    notes: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """What is in the file and could not be shown."""
    dropped: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """The guards that torch dropped when it saved, if the file lists them."""
