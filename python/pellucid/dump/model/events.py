# SPDX-License-Identifier: Apache-2.0
"""The events of a capture: plain, frozen values without any dependency on torch."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from pellucid.brief import one_line

from .artifact import Artifact as Artifact
from .keys import IN_FILE, SPARSE
from .keys import CompileKey as CompileKey  # re-exported: events are identified by it
from .keys import Place as Place
from .memory import Saved as Saved
from .memory import SavedTensor as SavedTensor
from .names import scrub
from .needs import Needs
from .observed import NonFinite as NonFinite
from .observed import Parting as Parting
from .observed import Values as Values
from .traced import *  # noqa: F403  # a new event needs no line here

_TRACEBACK_OF_TORCH = re.compile(
    r"^(?:NoneType: None|Traceback \(most recent call last\):)$", re.MULTILINE
)


@dataclass(frozen=True)
class Verdict:
    """How far a source is proven: ``identical``, ``equivalent``, ``unproven`` or ``failed``.

    ``failed`` means that there is no source at all; ``reason`` then says why.
    """

    status: str
    reason: str = ""

    @property
    def proven(self) -> bool:
        return self.status in ("identical", "equivalent")


@dataclass(frozen=True)
class Frame:
    """One frame that Dynamo transformed."""

    key: CompileKey
    function: int
    """The number of the user's function in this capture; its versions share it."""
    place: Place
    source: str | None = field(metadata=IN_FILE)
    verdict: Verdict
    file: str
    swapped: bool
    """Whether the code compiled from ``file`` runs in place of Dynamo's."""
    before: bool = False
    """Whether it was compiled before the capture began."""
    links: tuple[Link, ...] = field(default=(), metadata=SPARSE)
    """The origin of the lines of ``file``."""
    way: str = field(default="", metadata=SPARSE)
    """``ahead of time``, ``loaded`` (from a file), ``package`` (from torch's cache of compiled
    code) or ``export``; empty for a function that was compiled when it was called."""
    wrapper: str = field(default="", metadata=SPARSE)
    """The name of its code, if that only wraps the function in ``place``."""
    parent: str = field(default="", metadata=SPARSE)
    """The compile id of the frame that this one continues after a break; empty for none."""


@dataclass(frozen=True)
class Link:
    """The origin of a line of a transformed file."""

    line: int
    kind: str
    """``user`` (the user's line), ``graph`` or ``resume`` (a call of a resume function)."""
    target: str
    """The file of the graph, or of the resume function; a user's line as ``file:line``."""


@dataclass(frozen=True)
class Source:
    """One of the user's files at the end of the capture, or the relevant functions."""

    file: str
    text: str = field(metadata=IN_FILE)
    sha256: str
    """The hash of the whole file, even if only a part is kept; empty in an import from a log."""
    first: int = field(default=1, metadata=SPARSE)
    """The first line of ``text`` in the file."""


@dataclass(frozen=True)
class Graph:
    """One graph or generated program of one stage of a compile."""

    key: CompileKey
    stage: str
    file: str
    text: str = field(metadata=IN_FILE)
    needs: Needs | None = field(default=None, metadata=IN_FILE)
    """The inputs of the graph, if they are known: its file then runs by itself."""
    subgraph: str = field(default="", metadata=SPARSE)
    """The part of the compile that it belongs to, if torch names one."""
    hash: str = field(default="", metadata=SPARSE)
    """The same for graphs of the same operations, sizes and edges, whatever their names."""
    metadata: dict[str, Any] | None = field(default=None, hash=False, metadata=SPARSE)
    """The metadata passed to `dump_graph`: the range of sizes, the pass, the configuration."""
    calls: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The program's lines that call the code of its operations, each once."""

    @property
    def told(self) -> str:
        """Return the metadata on one line; empty if there is none.

        >>> Graph(CompileKey("0/0"), "fused", "a.py", "", metadata={"range": [1, 8]}).told
        'range [1, 8]'
        """
        parts = (f"{name} {json.dumps(v)}" for name, v in (self.metadata or {}).items())
        return scrub(" ".join(", ".join(parts).split()))

    @property
    def is_program(self) -> bool:
        """Return true if this is a program written by Inductor or ``torch.compiler.precompile``."""
        return self.stage.startswith(("inductor", "precompiled"))


@dataclass(frozen=True)
class GraphRun:
    """Whether a graph runs from its file."""

    file: str
    runs: bool
    reason: str = ""


@dataclass(frozen=True)
class Break:
    """A graph break: torch's own explanation, with the user's line."""

    key: CompileKey
    text: str
    kind: str = field(default="", metadata=SPARSE)
    """torch's name for this kind of break; empty if its text has none."""
    gb_id: str = field(default="", metadata=SPARSE)
    """The number in torch's registry of breaks, such as ``GB0059``."""
    hints: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """torch's own suggestions."""
    frames: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The user's calls that led there, outermost first."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The line of the break; it may be in a library."""
    reason: str = field(default="", metadata=SPARSE)
    """The reason, in one sentence of torch's."""
    context: str = field(default="", metadata=SPARSE)
    """The objects that caused it, in torch's words."""
    then: str = field(default="", metadata=SPARSE)
    """The kind of a second break that occurred while handling this one, which skipped the frame."""

    @property
    def title(self) -> str:
        """Return the reason and the place on one line."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        where = next((x for x in lines if x.startswith("Graph break in user code at")), "")
        reason = ""
        for line, following in zip(lines, [*lines[1:], ""]):
            if line.startswith("Graph Break Reason:"):
                reason = line.partition(":")[2].strip()
                # If this break followed another one, torch names it on the next line.
                reason = following if reason.endswith(":") else reason
                break
        return reason + (f" — {where}" if reason and where else where)

    @property
    def explanation(self) -> str:
        """Return torch's text for the user, without the tracebacks of its own code.

        >>> Break(CompileKey("0/0"), "Graph break\\n\\nNoneType: None\\n").explanation
        'Graph break'
        """
        return _TRACEBACK_OF_TORCH.split(self.text, maxsplit=1)[0].strip()


@dataclass(frozen=True)
class Recompile:
    """Why a frame was recompiled: the guards that failed, one text each."""

    key: CompileKey
    reasons: tuple[str, ...]
    failures: tuple[GuardFailure, ...] = field(default=(), metadata=SPARSE)
    """The same as values, if torch's words could be parsed."""


@dataclass(frozen=True)
class GuardFailure:
    """The first guard of one compiled version that did not hold for a call."""

    version: CompileKey | None
    """The compiled version of the guard, if torch reports it."""
    kind: str
    """What differed: ``size``, ``stride``, ``dtype``, ``value``, ``type``, ``identity``, …."""
    source: str
    """The guarded value, as written in the program; empty for the state of the process."""
    expected: str
    actual: str
    """The value that it got; empty if torch does not report it."""
    text: str
    """The guard in torch's words, without its comment."""
    place: Place | None
    """The program's line that caused the guard, if torch reports it."""


@dataclass(frozen=True)
class Metrics:
    """torch's own summary of one compile; only values that are the same in every run are kept."""

    key: CompileKey
    values: dict[str, Any]


@dataclass(frozen=True)
class Times:
    """The durations of a compile's phases; they differ between runs."""

    key: CompileKey
    backward: bool
    """Whether the backward graph was compiled separately, when it first ran."""
    seconds: dict[str, float]


@dataclass(frozen=True)
class Span:
    """One phase of a compile: when it started, and how long it took."""

    key: CompileKey
    name: str
    start: float
    """Seconds since the capture began."""
    seconds: float
    thread: int = 0
    """0 for the first thread seen, 1 for the next."""
    about: str = field(default="", metadata=SPARSE)
    """torch's description; for autotuning: sizes, number of candidates, the best and its time."""


@dataclass(frozen=True)
class Log:
    """The log of torch's trace from which a capture was imported."""

    name: str
    """The name of the log's file."""
    lines: int
    """How many lines of it were read."""
    lacks: tuple[str, ...] = ()
    """What a capture contains and this log does not."""
    cut: str = field(default="", metadata=SPARSE)
    """What is missing at its end; empty if the log is complete."""
    passed: int = field(default=0, metadata=SPARSE)
    """How many lines were skipped because they do not belong to a record."""
    unfinished: tuple[CompileKey, ...] = field(default=(), metadata=SPARSE)
    """The compiles that had not ended when the log did."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is wrong with the log, in words."""
        found = []
        if self.cut:
            found.append(f"it is cut off: {self.cut}")
        if self.unfinished:
            keys = ", ".join(map(str, self.unfinished[:20]))
            found.append(f"it ends in the middle of these compiles: {keys}")
        if self.passed:
            found.append(f"lines that do not belong to a record were skipped: {self.passed}")
        return tuple(found)


@dataclass(frozen=True)
class Unknown:
    """An event of a newer schema than this version knows."""

    event: str
    values: dict[str, Any]


@dataclass(frozen=True)
class CacheUse:
    """The result of a lookup in one of torch's compile caches."""

    key: CompileKey
    cache: str
    """``fx_graph_cache``, ``aotautograd_cache``; ``dynamo_cache`` of precompiled code."""
    result: str
    """``hit``, ``miss``, ``bypass``, or ``unsaved``: its result could not be saved."""
    reason: str = ""
    cache_key: str = field(default="", metadata=SPARSE)
    """The key of the lookup."""
    components: tuple[str, ...] = field(default=(), metadata=IN_FILE)
    """The parts of the key, one line each."""


@dataclass(frozen=True)
class Collectives:
    """The collective operations of one program, in the order in which it calls them."""

    key: CompileKey
    schedule: tuple[str, ...]


_ANOTHER = re.compile(r"\*\*\* While handling this graph break, another [^*]*\*\*\*")


@dataclass(frozen=True)
class Skipped:
    """A frame that torch skipped."""

    key: CompileKey
    place: Place | None
    kind: str
    """torch's name for what happened (``Unsupported``); empty if it has none."""
    reason: str
    raised: bool = field(default=False, metadata=SPARSE)
    """Whether the error reached the program; otherwise the frame runs uncompiled."""
    at: Place | None = field(default=None, metadata=SPARSE)
    """The line that failed, if torch reports it; it may be in a library."""
    frames: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The program's calls that led to that line, outermost first."""
    limit: str = field(default="", metadata=SPARSE)
    """The setting whose limit was hit (``recompile_limit``); empty for another reason."""
    inside: str = field(default="", metadata=SPARSE)
    """The file and line of torch's own code that raised the error; empty if other code did."""

    @property
    def brief(self) -> str:
        """Return the reason on one line.

        torch's full explanation is shown with the graph breaks.

        >>> one, other = "A branch\\n  Explanation: it is.\\n\\n", "A loop\\n  Explanation: it is."
        >>> again = "*** While handling this graph break, another graph break occurred: ***\\n\\n"
        >>> Skipped(CompileKey("0/0"), None, "", one + again + other).brief
        'A branch; while that was handled: A loop'
        """
        reasons = (text.partition("Explanation:")[0] for text in _ANOTHER.split(self.reason))
        return scrub("; while that was handled: ".join(" ".join(r.split()) for r in reasons))


@dataclass(frozen=True)
class Passed:
    """A frame that torch did not inspect, although it ran where code is compiled."""

    place: Place
    reason: str
    """torch's own words; empty if it gives none."""


@dataclass(frozen=True)
class Stance:
    """Calls of a compiled function under a stance that is not the default."""

    stance: str
    """As ``torch.compiler.set_stance`` names it."""
    place: Place | None
    """The program's line that made the call."""
    function: str = ""
    reason: str = ""
    """The guards that failed, if the stance raised an error for it."""


@dataclass(frozen=True)
class Calls:
    """How often the code of one compile ran, if the capture counts calls."""

    key: CompileKey
    number: int
    """The number of calls between its compile and the end of the capture."""


@dataclass(frozen=True)
class Uncalled:
    """A module that ``torch.compile`` wrapped, in a capture in which nothing was compiled."""

    module: str
    """Its class."""
    place: Place | None
    """The first line of its ``forward``."""


@dataclass(frozen=True)
class LateHook:
    """A hook that was added to a module after it was compiled, and that no guard checks."""

    module: str
    """The module's path in what was compiled, and its class."""
    kind: str
    """The table that contains it: ``_forward_hooks``, …."""
    place: Place | None
    """The first line of the hook's code."""


@dataclass(frozen=True)
class KernelFile:
    """One kernel of an Inductor program, in a separate file."""

    key: CompileKey
    name: str
    program: str
    """The file of the program."""
    file: str
    kind: str = field(default="", metadata=SPARSE)
    """Inductor's method that compiles it: ``cpp_pybinding``, ``triton``, …."""
    line: int = field(default=0, metadata=SPARSE)
    """The line of the program that defines it."""
    calls: tuple[int, ...] = field(default=(), metadata=SPARSE)
    """The lines of the program that call it."""
    nodes: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """The nodes that it computes, by the names in the program's comments."""
    exact: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """The same in the graph from which the program was generated, if Inductor reports it."""


@dataclass(frozen=True)
class ExternCall:
    """A call of a library kernel in an Inductor program."""

    key: CompileKey
    name: str
    """The called function, such as ``extern_kernels.mm``."""
    program: str
    line: int
    nodes: tuple[str, ...] = field(default=(), metadata=SPARSE)
    exact: tuple[str, ...] = field(default=(), metadata=SPARSE)


@dataclass(frozen=True)
class Started:
    """Dynamo started to compile a frame."""

    key: CompileKey
    place: Place | None
    stack: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The user's calls that led there, outermost first."""


@dataclass(frozen=True)
class Guard:
    """One leaf guard of a cache entry."""

    kind: str
    text: str
    """The guard in torch's words, without addresses."""
    user_line: str
    """The user's line that caused the guard, with its place; torch shortens the path."""
    expression: str | None
    """The call that decides it in the dumped file; None if only the captured process can."""
    source: str = ""
    """The guarded value, in torch's words; empty for the state of the process."""
    line: int = field(default=0, metadata=SPARSE)
    """Its line in the full code; 0 if it has none."""
    place: Place | None = field(default=None, metadata=IN_FILE)
    """The user's line that caused it: ``way``, or ``user_line`` in its file."""
    way: Place | None = field(default=None, metadata=SPARSE)
    """The user's line that led to ``user_line``, if that is in a library."""


@dataclass(frozen=True)
class CacheEntry:
    """One compiled version of a code object, in the order in which torch tries them."""

    key: CompileKey
    guards: tuple[Guard, ...]
    body: tuple[str, ...] = field(default=(), metadata=IN_FILE)
    """The guards as lines of a generator's body; one guard for each ``yield`` that may fail."""
    kept: Any = field(default=None, repr=False, compare=False, metadata=IN_FILE)
    """The objects that the body's numbers refer to in this process: a ``guard_objects.Kept``."""
    forms: tuple[str, ...] = field(default=(), metadata=IN_FILE)
    """Each distinct form of a line of the body, to search them all."""
    forgotten: bool = field(default=False, metadata=SPARSE)
    """Whether torch was reset since, so these guards no longer check any call."""


@dataclass(frozen=True)
class Problem:
    """An error in pellucid, or a feature that this torch does not support."""

    where: str
    what: str
    detail: str = ""


for _kind in [*globals().values()]:
    if isinstance(_kind, type) and is_dataclass(_kind):
        one_line(_kind)
