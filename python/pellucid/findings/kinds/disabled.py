# SPDX-License-Identifier: Apache-2.0
"""Functions that the program excludes from compilation: each call breaks its caller's graph."""

from __future__ import annotations

import re
from typing import Match

from pellucid.dump.model.events import Break, Place

from .. import rewrites
from ..advice import Advice
from ..kind import Kind
from ..remedy import by_hand, edit
from ..source import Program


def disabled(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    """Return advice on a call of such a function; torch reports it as a graph break."""
    why = re.search(r"Reason: (.+?)(?:\.\s|$)", event.reason)
    because = f" ({why[1].strip()})" if why and why[1].strip() not in ("", "None") else ""
    told_name = re.search(r"<(?:function|bound method) (?:[\w.<>]*\.)?(\w+)", event.context)
    name = told_name[1] if told_name else "a function"
    removed, at = rewrites.without_decorator(program, place, name, "disable")
    return Advice(
        f"`{name}` is excluded from compilation by torch.compiler.disable{because}",
        (
            *edit(removed, at, "remove the decorator"),
            *by_hand("call it outside the compiled function"),
        ),
        kind="disabled",
    )


KIND = Kind(
    "disabled",
    rank=120,
    means="A function is excluded by torch.compiler.disable, which breaks the graph of its caller.",
    words="compiling disabled",
    tone="warn",
    judged="adds",
    claim=40,
)
