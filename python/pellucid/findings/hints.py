# SPDX-License-Identifier: Apache-2.0
"""Remedies from torch's hints for a graph break, for kinds that no table covers."""

from __future__ import annotations

import re
from typing import Sequence

WRONG = "may result in an error when running in eager"
"""In a hint: torch considers the code an error."""
_GENERAL = (
    (
        WRONG,
        "run it uncompiled to see whether it also raises there: "
        'torch.compiler.set_stance("force_eager")',
    ),
    ("caused by an earlier graph break", "remove the earlier graph breaks first"),
    ("fundamental", "do it outside the compiled function: torch will never trace it"),
    (
        "likely to be a Dynamo bug",
        "do it outside the compiled function: this is a bug in torch",
    ),
    ("possible to write Dynamo tracing rules", "do it outside the compiled function"),
    ("difficult to debug", "do it outside the compiled function"),
)
_REPORT = re.compile(r"\b(?:report|file|open) an issue\b|^If you ", re.IGNORECASE)
_MOST = 2


def advised(hints: Sequence[str]) -> str:
    """Return the advice in torch's hints, concrete advice first; empty if there is none.

    >>> advised(["Avoid calling `f`.", "Please report an issue to PyTorch."])
    'torch advises: avoid calling `f`'
    >>> advised(["This graph break is fundamental - it is unlikely that Dynamo will ever"])
    'do it outside the compiled function: torch will never trace it'
    """
    concrete = []
    general = ""
    for hint in hints:
        known = next((words for part, words in _GENERAL if part in hint), "")
        if known:
            general = general or known
        elif hint.strip() and not _REPORT.search(hint):
            text = " ".join(hint.split()).rstrip(".")
            concrete.append(text[:1].lower() + text[1:] if text[1:2].islower() else text)
    if concrete:
        return f"torch advises: {'; '.join(concrete[:_MOST])}"
    return general
