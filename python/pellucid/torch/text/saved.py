# SPDX-License-Identifier: Apache-2.0
"""The tensors that forward graphs save for their backward graphs, as a section of ``index.md``."""

from __future__ import annotations

import os
from typing import Sequence

from pellucid.dump.model.events import Saved
from pellucid.dump.model.memory import size_in_words

_LISTED = 12


def saved_text(events: Sequence[Saved]) -> str:
    """Return the section about saved tensors; empty if no graph has a backward graph."""
    parts = []
    for saved in dict.fromkeys(events):
        if saved.tensors:
            parts += [f"[{saved.key}] [`{saved.forward}`]({saved.forward}): {saved.summary}\n"]
            parts += _table(saved)
    return "\n".join(["## Saved for the backward pass\n", *parts]) if parts else ""


def _table(saved: Saved) -> list[str]:
    own = sorted((t for t in saved.tensors if t.is_extra), key=lambda tensor: -tensor.bytes)
    if not own:
        return []
    lines = ["| tensor | bytes | line | why it is kept |", "| --- | ---: | --- | --- |"]
    for tensor in own[:_LISTED]:
        where = (
            ""
            if tensor.place is None
            else f"`{os.path.basename(tensor.place.file)}:{tensor.place.line}`"
        )
        lines.append(
            f"| `{tensor.name}`: {tensor.type} | {tensor.bytes:,} | {where} | {tensor.why} |"
        )
    rest = own[_LISTED:]
    if rest:
        total = size_in_words(sum(tensor.bytes for tensor in rest))
        lines.append(f"| and {len(rest)} more | {total} | | |")
    return [*lines, ""]
