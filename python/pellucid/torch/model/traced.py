# SPDX-License-Identifier: Apache-2.0
"""What torch's trace reports besides graphs, breaks and recompiles: more events of a capture."""

from __future__ import annotations

from dataclasses import dataclass, field

from .keys import SPARSE, CompileKey, Place


@dataclass(frozen=True)
class Wrappers:
    """The functions that AOTAutograd generates around the graphs of a compile.

    They copy mutated inputs back, rebuild aliases and tensor subclasses, and save for the backward
    pass.
    """

    key: CompileKey
    file: str


@dataclass(frozen=True)
class SideEffect:
    """An object of the program's that compiled code changes after its graph has run."""

    key: CompileKey
    type: str
    """The class of the object."""
    source: str = field(default="", metadata=SPARSE)
    """The object, as torch names it: ``G['seen']``; empty when torch does not say."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The line that changes it."""


@dataclass(frozen=True)
class AutogradCompile:
    """Why compiled autograd compiled a backward pass instead of reusing one."""

    key: CompileKey
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class MinCut:
    """How a memory budget divides the joint graph: what is saved, and what is recomputed."""

    key: CompileKey
    budget: float
    """``activation_memory_budget``: 1 saves for speed, 0 saves the inputs only."""
    gigabytes: tuple[float, ...]
    """The size of what is saved, then the least and the most that could be saved."""
    saved: tuple[str, ...]
    """The nodes of the joint graph that are saved."""
    recomputed: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """The nodes that the backward pass computes again because of the budget."""


@dataclass(frozen=True)
class Specialized:
    """A size that could have been any, and was fixed while the code was traced."""

    key: CompileKey
    sources: tuple[str, ...]
    """What it is the size of, as torch words it."""
    value: str
    place: Place | None
    """The line of the program that fixed it."""
    frames: tuple[Place, ...] = field(default=(), metadata=SPARSE)


@dataclass(frozen=True)
class Unbacked:
    """A number that comes from a tensor's values, and that torch represents by a symbol."""

    key: CompileKey
    symbol: str
    """Its name in sizes and tests: ``u0``."""
    place: Place | None
    """The innermost line that made it."""
    frames: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The calls that led there, outermost first."""


GUARDS_OF_VALUES = ("EQUALS_MATCH", "CONSTANT_MATCH", "BOOL_MATCH", "SEQUENCE_LENGTH")
"""torch's names for the guards of numbers, texts and lengths."""


@dataclass(frozen=True)
class FilteredGuards:
    """The guards of a compiled version that a ``guard_filter_fn`` has dropped."""

    key: CompileKey
    name: str
    """The name of the filter."""
    dropped: tuple[tuple[str, str], ...]
    """The kind of each guard that was dropped, and the value that it is about."""
    number: int
    """How many guards there were before."""
    place: Place | None
    """The line for which the first of those that are about a value was made."""

    @property
    def values(self) -> tuple[str, ...]:
        """What the guards that were dropped are about: values, or else whatever it is."""
        of_values = [name for kind, name in self.dropped if kind in GUARDS_OF_VALUES]
        every = of_values or [name for _, name in self.dropped]
        return tuple(dict.fromkeys(filter(None, every)))


@dataclass(frozen=True)
class Operator:
    """An operator in a graph that is not torch's own, as it was when the graph was captured."""

    name: str
    """As ``namespace.name``."""
    schemas: tuple[str, ...]
    """What it takes, mutates and returns, for each overload."""


@dataclass(frozen=True)
class RankMismatch:
    """Inductor compared the graphs of all ranks, and they differ."""

    key: CompileKey
    text: str
    """torch's report: the numbers of nodes, and the first nodes that differ."""


@dataclass(frozen=True)
class FailedGuard:
    """A guard that failed in code compiled ahead of time: the call raised an error."""

    key: CompileKey
    text: str
    """The guard in torch's words."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The line of the call."""


@dataclass(frozen=True)
class BackwardFailure:
    """A backward graph failed to compile early; torch tries again when the backward pass runs."""

    key: CompileKey
    reason: str
    """The exception, in one line."""
    text: str
    """Its traceback."""
