# SPDX-License-Identifier: Apache-2.0
"""What a kind of finding is: its name, its rank, its words, and what finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

from pellucid.torch.model.capture import Capture

from .finding import Finding
from .source import Program

TONES = ("bad", "again", "warn", "note")
"""What went wrong, what was compiled again, what may be wrong, and what asks for no change."""
JUDGED = ("", "adds", "rules out")
"""What a new finding means for the remedy that was tried: nothing, a price, or a failure."""
LAST = 1000


@dataclass(frozen=True)
class Kind:
    """One kind of finding: a file of :mod:`pellucid.findings.kinds` has it as ``KIND``."""

    name: str
    """As in :attr:`.Finding.kind`, ids, JSON and ``--fail-on``."""
    rank: int
    """The lower, the earlier its findings are listed."""
    means: str
    """What such a finding says, in one sentence: the documentation."""
    words: str
    """One of them, as it is counted: ``graph break``."""
    many: str = ""
    """Several of them, if that is another word."""
    tone: str = "bad"
    """One of :data:`TONES`: how it is coloured, and whether it counts as a note."""
    judged: str = ""
    """One of :data:`JUDGED`."""
    claim: int = LAST
    """The lower, the earlier its findings take the compile time that several of them caused."""
    is_compared: bool = True
    """Whether ``diff`` compares its findings: others are there as events, or by chance."""
    find: Callable[[Capture, Program], list[Finding]] | None = None
    """Finds them in a capture; None for what another kind's function finds."""
    across: Callable[[Sequence[Capture]], list[Finding]] | None = None
    """Finds them between the captures of several processes."""

    def __post_init__(self) -> None:
        if not (self.means.endswith(".") and self.words and self.tone in TONES):
            raise ValueError(f"kind {self.name}: it needs a sentence, words and a tone")
        if self.judged not in JUDGED:
            raise ValueError(f"kind {self.name}: judged is one of {JUDGED}")
