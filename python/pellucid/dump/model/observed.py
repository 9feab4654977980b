# SPDX-License-Identifier: Apache-2.0
"""Events about the values that compiled code computes; ``events.py`` has the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from .keys import SPARSE, CompileKey, Place


@dataclass(frozen=True)
class Values:
    """A summary of the elements of one tensor."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nan: int
    """How many elements are NaN."""
    inf: int
    """How many are infinite."""
    least: float | None
    """The smallest finite element; None if there is none."""
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
    """An operation of a compiled graph that produced NaN or Inf from arguments without one."""

    key: CompileKey
    stage: str
    """``forward``, ``backward`` or ``inference``; ``input`` if the value was passed to a graph."""
    what: str
    """``NaN`` or ``Inf``."""
    operation: str
    """The operation's full name, such as ``aten.log.default``; for an input, its source."""
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
    """The line in that file that computes the value; 0 if it is not found."""
    reached: bool = False
    """Whether a NaN or Inf caused by it left the compiled graphs, in a result or a gradient."""


@dataclass(frozen=True)
class Parting:
    """A difference between compiled code and eager: in a result, or in the state of the program."""

    key: CompileKey
    stage: str
    """The first stage that differs: ``captured``, ``AOT``, ``post-grad`` or ``program``; ``as it
    runs`` for what the program compiled itself."""
    previous: str
    """The last stage that agrees with eager."""
    direction: str
    """``forward`` or ``backward``; empty if no operation is named."""
    operation: str
    """The first operation whose result differs; empty if none was found; ``Python state`` if
    only attributes, lists, dictionaries or globals differ."""
    before: Values | None = field(default=None, metadata=SPARSE)
    """The result in the earlier stage."""
    after: Values | None = field(default=None, metadata=SPARSE)
    """The result in the later stage."""
    words: str = field(default="", metadata=SPARSE)
    """The difference between the two, in words."""
    nearer: str = field(default="", metadata=SPARSE)
    """Which of the two is closer to the result in a more precise type, in words."""
    state: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """The remaining differences in the program's state, one sentence each."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The user's line."""
    code: str = field(default="", metadata=SPARSE)
    """The text of that line."""
    file: str = field(default="", metadata=SPARSE)
    """The dumped file that computes the differing value."""
    line: int = field(default=0, metadata=SPARSE)
    """Its line there; 0 if it is not found."""
    cause: str = field(default="", metadata=SPARSE)
    """Why a fresh compile agrees although the program's own compiled code does not."""
    remedy: str = field(default="", metadata=SPARSE)
    """What to do about that, in words."""
