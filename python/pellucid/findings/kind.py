# SPDX-License-Identifier: Apache-2.0
"""A kind of finding: its name, rank, words, and the function that finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

from pellucid.dump.model.capture import Capture

from .finding import Finding
from .source import Program

TONES = ("bad", "again", "warn", "note")
"""Something failed, was recompiled, may be wrong, or needs no change."""
JUDGED = ("", "adds", "rules out")
"""What a new finding means for the remedy on trial: nothing, a cost, or failure."""
LAST = 1000


@dataclass(frozen=True)
class Kind:
    """One kind of finding; a file in :mod:`pellucid.findings.kinds` defines it as ``KIND``."""

    name: str
    """The name in :attr:`.Finding.kind`, ids, JSON and ``--fail-on``."""
    rank: int
    """Findings with a lower rank are listed first."""
    means: str
    """What such a finding means, in one sentence, for the documentation."""
    words: str
    """The noun for one of them: ``graph break``."""
    many: str = ""
    """The noun for several, if it differs."""
    tone: str = "bad"
    """One of :data:`TONES`: the colour, and whether it counts as a note."""
    judged: str = ""
    """One of :data:`JUDGED`."""
    claim: int = LAST
    """Kinds with a lower claim are charged first for compile time that several findings caused."""
    is_compared: bool = True
    """Whether ``diff`` compares its findings; the others appear as events, or vary by chance."""
    quotes_torch: bool = True
    """Whether its quotation is torch's message; otherwise it is what pellucid has seen."""
    find: Callable[[Capture, Program], list[Finding]] | None = None
    """The function that finds them in a capture; None if another kind's function does."""
    across: Callable[[Sequence[Capture]], list[Finding]] | None = None
    """The function that finds them by comparing the captures of several processes."""

    def __post_init__(self) -> None:
        if not (self.means.endswith(".") and self.words and self.tone in TONES):
            raise ValueError(f"kind {self.name}: it needs a sentence, words and a tone")
        if self.judged not in JUDGED:
            raise ValueError(f"kind {self.name}: judged is one of {JUDGED}")
