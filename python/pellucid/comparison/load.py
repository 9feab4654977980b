# SPDX-License-Identifier: Apache-2.0
"""Load the captures of a directory: of the first process, its ranks and its child processes."""

from __future__ import annotations

import os

from pellucid.dump.model.capture import Capture
from pellucid.dump.store.load import captures_below, load
from pellucid.dump.store.record import RECORD
from pellucid.errors import NotADump


def captures_in(directory: str | os.PathLike[str]) -> dict[str, Capture]:
    """Load all captures of a directory by their paths below it; the first process has none.

    Raises:
        NotADump: the directory has no capture, or one that cannot be read.
    """
    below = captures_below(directory)
    found: dict[str, Capture] = {}
    if not below or os.path.exists(os.path.join(os.fspath(directory), RECORD)):
        found[""] = load(directory)
    for name in below:
        found[name] = load(os.path.join(os.fspath(directory), name))
    if not found:
        raise NotADump(f"{directory}: not a capture")
    return found


def told_process(name: str) -> str:
    """Return the display name of a process's capture."""
    return name.replace("_", " ")
