# SPDX-License-Identifier: Apache-2.0
"""What forward graphs keep for their backward graphs, as the page lists it."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator

from pellucid.dump.model.events import Saved

from .model import View

_LISTED = 200
_WIDEST = 20


def memory_of(view: View) -> Iterator[Dict[str, Any]]:
    """Yield a table for each forward graph, what takes memory of its own first."""
    for saved in dict.fromkeys(view.capture.of(Saved)):
        if not saved.tensors:
            continue
        nodes = view.capture.nodes_by_name(saved.forward)
        most = max(tensor.bytes for tensor in saved.tensors) or 1
        ordered = sorted(saved.tensors, key=lambda t: (not t.is_extra, -t.bytes))
        yield {
            "key": str(saved.key),
            "file": saved.forward,
            "summary": saved.summary,
            "more": max(0, len(ordered) - _LISTED),
            "rows": [
                {
                    "name": tensor.source or tensor.name,
                    "type": tensor.type,
                    "bytes": f"{tensor.bytes:,}",
                    "share": round(_WIDEST * tensor.bytes / most),
                    "where": _where(tensor.place),
                    "why": list(enumerate(tensor.why.split("`"))),
                    "line": nodes[tensor.name].line if tensor.name in nodes else 1,
                    "extra": tensor.is_extra,
                }
                for tensor in ordered[:_LISTED]
            ],
        }


def _where(place: Any) -> str:
    return "" if place is None else f"{os.path.basename(place.file)}:{place.line}"
