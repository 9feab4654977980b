# SPDX-License-Identifier: Apache-2.0
"""Errors raised by torch's own code during a compile, as opposed to errors in the program."""

from __future__ import annotations

import re

from pellucid.dump.model.breaks import calls_of
from pellucid.dump.model.events import Place, Skipped

from .remedy import Remedy, by_hand

_ORIGINAL = re.compile(r"^Original traceback:\n(?P<calls>(?:[ \t].*\n?|\n)+)", re.MULTILINE)
_TOLD = ("TorchRuntimeError", "Unsupported", "UserError", "UncapturedHigherOrderOpError")
"""The exception classes that torch uses for errors in the program."""
_NEST = "invoke_subgraph"
_REPORT = (
    "report it to PyTorch with the smallest program that fails, its output under "
    "TORCHDYNAMO_VERBOSE=1, and the versions in index.md"
)
_MOST = 200


def traced_line(event: Skipped) -> Place | None:
    """Return the line that torch names as the one it was executing (`Original traceback`)."""
    found = _ORIGINAL.search(event.reason)
    calls = () if found is None else calls_of(found["calls"])
    return calls[-1] if calls else None


def fault_of_torch(event: Skipped) -> tuple[str, tuple[Remedy, ...]] | None:
    """Return cause and remedies of an error that torch's own code raised; None for other errors."""
    if not event.inside or event.kind.rpartition(".")[2] in _TOLD:
        return None
    words = " ".join(event.reason.partition("\nWhile executing")[0].split())
    words = words if len(words) < _MOST else words[:_MOST] + "…"
    cause = f"PyTorch itself failed, in {event.inside}, while it compiled this line: {words}"
    if any(_NEST in frame.file for frame in event.frames):
        around = "remove `torch.compiler.nested_compile_region` from what this line calls"
    else:
        around = "put `@torch.compiler.disable` on the function with this line"
    return cause, by_hand(around) + by_hand(_REPORT)
