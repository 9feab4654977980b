# SPDX-License-Identifier: Apache-2.0
"""Events about the values that compiled code computes; ``events.py`` has the others."""

from __future__ import annotations

from dataclasses import dataclass, field

from .keys import SPARSE, CompileKey, Place


@dataclass(frozen=True)
class Values:
    """What the elements of one tensor look like."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nan: int
    """How many elements are NaN."""
    inf: int
    """How many are infinite."""
    least: float | None
    """The least finite element; None when there is none."""
    greatest: float | None
    mean: float | None
    """The mean of the finite elements."""

    def __str__(self) -> str:
        odd = [f"{n:,} {what}" for n, what in ((self.nan, "NaN"), (self.inf, "Inf")) if n]
        line = f"{self.name}: {self.dtype}{list(self.shape)}"
        if self.least is not None:
            line += f" from {self.least:.6g} to {self.greatest:.6g}, mean {self.mean:.6g}"
        return f"{line}; {', '.join(odd)}" if odd else line


@dataclass(frozen=True)
class NonFinite:
    """An operation of a compiled graph that made NaN or Inf of arguments without."""

    key: CompileKey
    stage: str
    """``forward``, ``backward`` or ``inference``; ``input`` when a graph was given the value."""
    what: str
    """``NaN`` or ``Inf``."""
    operation: str
    """The operation's full name, ``aten.log.default``; of an input, the source that it is from."""
    node: str
    """The name of the value in the dumped graph."""
    output: Values
    inputs: tuple[Values, ...] = ()
    place: Place | None = None
    """The user's line."""
    code: str = ""
    """The text of that line."""
    file: str = ""
    """The dumped graph."""
    line: int = 0
    """Where in that file the value is made; 0 when it is not found."""
    reached: bool = False
    """Whether a NaN or Inf that came of it left the compiled graphs, in a result or a gradient."""


@dataclass(frozen=True)
class Parting:
    """Where compiled code gave another result than eager, or left the program in another state."""

    key: CompileKey
    stage: str
    """The first stage that differs: ``captured``, ``AOT``, ``post-grad`` or ``program``; ``as it
    runs`` for what the program compiled itself."""
    previous: str
    """The last stage that agrees with eager."""
    direction: str
    """``forward`` or ``backward``; empty when no operation is named."""
    operation: str
    """The first operation whose result differs; empty when none was found; ``Python state`` where
    only attributes, lists, dictionaries or globals differ."""
    before: Values | None = field(default=None, metadata=SPARSE)
    """What the earlier stage made of it."""
    after: Values | None = field(default=None, metadata=SPARSE)
    """What the later stage made of it."""
    words: str = field(default="", metadata=SPARSE)
    """How far both are apart, in words."""
    nearer: str = field(default="", metadata=SPARSE)
    """Which of both is nearer to the result in a more precise type, in words."""
    state: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """What is left different in the program, one sentence each."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The user's line."""
    code: str = field(default="", metadata=SPARSE)
    """The text of that line."""
    file: str = field(default="", metadata=SPARSE)
    """The dumped file that makes the other value."""
    line: int = field(default=0, metadata=SPARSE)
    """The line of it; 0 when it is not found."""
    cause: str = field(default="", metadata=SPARSE)
    """Why a fresh compile agrees, where the program's own compiled code does not."""
    remedy: str = field(default="", metadata=SPARSE)
    """What to do about that, in words."""
