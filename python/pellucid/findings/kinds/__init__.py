# SPDX-License-Identifier: Apache-2.0
"""The kinds of findings, one file each: its function, words, rank and documentation."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Iterable, Mapping

from ..kind import Kind


def in_order(kinds: Iterable[Kind]) -> Mapping[str, Kind]:
    """Return kinds by name, those with the lowest rank first."""
    ordered = sorted(kinds, key=lambda kind: kind.rank)
    found = {kind.name: kind for kind in ordered}
    if not len({kind.rank for kind in ordered}) == len(found) == len(ordered):
        raise ValueError("two kinds of findings have the same name or rank")
    return found


KINDS = in_order(
    import_module(f"{__name__}.{module.name}").KIND for module in iter_modules(__path__)
)
"""The kinds by name, in the order in which findings are listed: the most severe first."""


def listed() -> str:
    """Return the meaning of each kind as plain text, one line each."""
    width = max(map(len, KINDS))
    return "".join(f"{kind.name:{width}}  {kind.means}\n" for kind in KINDS.values())
