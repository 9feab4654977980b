# SPDX-License-Identifier: Apache-2.0
"""What a capture consists of: plain, frozen values that know nothing of torch."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from .keys import IN_FILE, SPARSE
from .keys import CompileKey as CompileKey  # who reads events reads what they are named by
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
    """What is known of a source: ``identical``, ``equivalent``, ``unproven`` or ``failed``.

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
    """What the lines of ``file`` stand for."""
    way: str = field(default="", metadata=SPARSE)
    """``ahead of time``, ``loaded`` (from a file), ``package`` (from torch's cache of compiled
    code) or ``export``; empty for a function that was compiled when it was called."""
    wrapper: str = field(default="", metadata=SPARSE)
    """The name of its code, where that only wraps the function that ``place`` names."""
    parent: str = field(default="", metadata=SPARSE)
    """The compile id of the frame that this one continues after a break; empty for none."""


@dataclass(frozen=True)
class Link:
    """What a line of a transformed file stands for."""

    line: int
    kind: str
    """``user`` (a line of the user's), ``graph`` or ``resume`` (a call of a resume function)."""
    target: str
    """The file of the graph, or of the resume function; a line of the user's as ``file:line``."""


@dataclass(frozen=True)
class Source:
    """A file of the user's as it was when the capture ended, or the functions concerned."""

    file: str
    text: str = field(metadata=IN_FILE)
    sha256: str
    """Of the whole file, whatever part of it is kept; empty where a log has shown lines of it."""
    first: int = field(default=1, metadata=SPARSE)
    """The line of the file with which ``text`` begins."""


@dataclass(frozen=True)
class Graph:
    """One graph or generated program of one stage of a compile."""

    key: CompileKey
    stage: str
    file: str
    text: str = field(metadata=IN_FILE)
    needs: Needs | None = field(default=None, metadata=IN_FILE)
    """What the graph takes, where it is known: its file then runs by itself."""
    subgraph: str = field(default="", metadata=SPARSE)
    """The name of the part of the compile that it belongs to, where torch tells one."""
    hash: str = field(default="", metadata=SPARSE)
    """The same for graphs of the same operations, sizes and edges, whatever their names."""
    metadata: dict[str, Any] | None = field(default=None, hash=False, metadata=SPARSE)
    """What `dump_graph` was told of it: the range of sizes, the pass, the configuration."""
    calls: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The program's lines that call what its operations are in, each once."""

    @property
    def told(self) -> str:
        """The metadata in one line; empty where there is none.

        >>> Graph(CompileKey("0/0"), "fused", "a.py", "", metadata={"range": [1, 8]}).told
        'range [1, 8]'
        """
        parts = (f"{name} {json.dumps(v)}" for name, v in (self.metadata or {}).items())
        return scrub(" ".join(", ".join(parts).split()))

    @property
    def is_program(self) -> bool:
        """Whether this is what Inductor wrote, not a graph."""
        return self.stage.startswith("inductor")


@dataclass(frozen=True)
class GraphRun:
    """What became of running a graph from its file."""

    file: str
    runs: bool
    reason: str = ""


@dataclass(frozen=True)
class Break:
    """A graph break: torch's own explanation, with the user's line."""

    key: CompileKey
    text: str
    kind: str = field(default="", metadata=SPARSE)
    """torch's name for this kind of break; empty when its text does not say."""
    gb_id: str = field(default="", metadata=SPARSE)
    """The number in torch's registry of breaks, such as ``GB0059``."""
    hints: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """What torch says can be done."""
    frames: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The user's calls that led there, outermost first."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The line at which it broke; it may be a library's."""
    reason: str = field(default="", metadata=SPARSE)
    """Why, in one sentence of torch's."""
    context: str = field(default="", metadata=SPARSE)
    """The objects that torch stumbled over, in its own words."""
    then: str = field(default="", metadata=SPARSE)
    """The kind of the break that occurred while this one was handled: the frame was given up."""

    @property
    def title(self) -> str:
        """The reason and the place in one line."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        where = next((x for x in lines if x.startswith("Graph break in user code at")), "")
        reason = ""
        for line, following in zip(lines, [*lines[1:], ""]):
            if line.startswith("Graph Break Reason:"):
                reason = line.partition(":")[2].strip()
                # torch may have come to this break from another one, which it names below.
                reason = following if reason.endswith(":") else reason
                break
        return reason + (f" — {where}" if reason and where else where)

    @property
    def explanation(self) -> str:
        """What torch says to the user: its text without the tracebacks of its own code.

        >>> Break(CompileKey("0/0"), "Graph break\\n\\nNoneType: None\\n").explanation
        'Graph break'
        """
        return _TRACEBACK_OF_TORCH.split(self.text, maxsplit=1)[0].strip()


@dataclass(frozen=True)
class Recompile:
    """Why a frame was compiled again: the guards that failed, one text each."""

    key: CompileKey
    reasons: tuple[str, ...]
    failures: tuple[GuardFailure, ...] = field(default=(), metadata=SPARSE)
    """The same as values, where torch's words could be read."""


@dataclass(frozen=True)
class GuardFailure:
    """The first guard of one compiled version that did not hold for a call."""

    version: CompileKey | None
    """The compiled version whose guard it is, where torch tells."""
    kind: str
    """What differed: ``size``, ``stride``, ``dtype``, ``value``, ``type``, ``identity``, …."""
    source: str
    """The value that it is about, as the program writes it; empty for the state of the process."""
    expected: str
    actual: str
    """What came instead; empty when torch does not say."""
    text: str
    """The guard in torch's words, without its comment."""
    place: Place | None
    """The line of the program for which the guard was made, where torch tells."""


@dataclass(frozen=True)
class Metrics:
    """torch's own summary of one compile; only what is stable from run to run is kept."""

    key: CompileKey
    values: dict[str, Any]


@dataclass(frozen=True)
class Times:
    """How long the parts of a compile took; another run takes another time."""

    key: CompileKey
    backward: bool
    """Whether the backward graph was compiled apart, when it first ran."""
    seconds: dict[str, float]


@dataclass(frozen=True)
class Span:
    """When a part of the compiler's work was done, and for how long."""

    key: CompileKey
    name: str
    start: float
    """Seconds since the capture began."""
    seconds: float
    thread: int = 0
    """0 for the first thread seen, 1 for the next."""
    about: str = field(default="", metadata=SPARSE)
    """What torch says of it; of autotuning: sizes, number of candidates, the best and its time."""


@dataclass(frozen=True)
class Log:
    """The log of torch's trace that a capture was made from: pellucid was not there itself."""

    name: str
    """The name of the log's file."""
    lines: int
    """How many lines of it were read."""
    lacks: tuple[str, ...] = ()
    """What a capture has and this log does not say."""
    cut: str = field(default="", metadata=SPARSE)
    """What is missing at its end; empty for a log that is whole."""
    passed: int = field(default=0, metadata=SPARSE)
    """How many lines were passed over, because they belong to no record."""
    unfinished: tuple[CompileKey, ...] = field(default=(), metadata=SPARSE)
    """The compiles that had not ended when the log did."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong with the log, in words."""
        found = []
        if self.cut:
            found.append(f"it ends too early: {self.cut}")
        if self.unfinished:
            keys = ", ".join(map(str, self.unfinished[:20]))
            found.append(f"it ends before a compile has ended: {keys}")
        if self.passed:
            found.append(f"lines that belong to no record, and were passed over: {self.passed}")
        return tuple(found)


@dataclass(frozen=True)
class Unknown:
    """An event of a newer schema than this version knows."""

    event: str
    values: dict[str, Any]


@dataclass(frozen=True)
class CacheUse:
    """What one of torch's compile caches had for a graph."""

    key: CompileKey
    cache: str
    """``fx_graph_cache``, ``aotautograd_cache``; ``dynamo_cache`` of precompiled code."""
    result: str
    """``hit``, ``miss``, ``bypass``, or ``unsaved``: its result could not be saved."""
    reason: str = ""
    cache_key: str = field(default="", metadata=SPARSE)
    """The key that was looked for."""
    components: tuple[str, ...] = field(default=(), metadata=IN_FILE)
    """What the key was made of, one line each."""


@dataclass(frozen=True)
class Collectives:
    """The collective operations of one program, in the order in which it calls them."""

    key: CompileKey
    schedule: tuple[str, ...]


_ANOTHER = re.compile(r"\*\*\* While handling this graph break, another [^*]*\*\*\*")


@dataclass(frozen=True)
class Skipped:
    """A frame that torch looked at and left as it is."""

    key: CompileKey
    place: Place | None
    kind: str
    """torch's name for what happened (``Unsupported``); empty when it has none."""
    reason: str
    raised: bool = field(default=False, metadata=SPARSE)
    """Whether the error reached the program; otherwise the frame runs uncompiled."""
    at: Place | None = field(default=None, metadata=SPARSE)
    """The line that failed, where torch tells; it may be a library's."""
    frames: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The program's calls that led to that line, outermost first."""
    limit: str = field(default="", metadata=SPARSE)
    """The setting whose limit was hit (``recompile_limit``); empty for another reason."""
    inside: str = field(default="", metadata=SPARSE)
    """The file and line of torch's own code that raised the error; empty where another's did."""

    @property
    def brief(self) -> str:
        """The reason in one line.

        What torch explains at length stands whole where the graph breaks are told.

        >>> one, other = "A branch\\n  Explanation: it is.\\n\\n", "A loop\\n  Explanation: it is."
        >>> again = "*** While handling this graph break, another graph break occurred: ***\\n\\n"
        >>> Skipped(CompileKey("0/0"), None, "", one + again + other).brief
        'A branch; while that was handled: A loop'
        """
        reasons = (text.partition("Explanation:")[0] for text in _ANOTHER.split(self.reason))
        return scrub("; while that was handled: ".join(" ".join(r.split()) for r in reasons))


@dataclass(frozen=True)
class Passed:
    """A frame at which torch did not even look, though it ran where code is compiled."""

    place: Place
    reason: str
    """torch's own words; empty where it gives none."""


@dataclass(frozen=True)
class Stance:
    """Calls of a compiled function under a stance that is not the default."""

    stance: str
    """As ``torch.compiler.set_stance`` names it."""
    place: Place | None
    """The program's line that made the call."""
    function: str = ""
    reason: str = ""
    """The guards that failed, where the stance made a failure of it."""


@dataclass(frozen=True)
class Calls:
    """How often the code of one compile ran, where the capture was to count that."""

    key: CompileKey
    number: int
    """Since it was compiled, until the capture ended."""


@dataclass(frozen=True)
class Uncalled:
    """A module that ``torch.compile`` has wrapped, in a capture in which nothing was compiled."""

    module: str
    """Its class."""
    place: Place | None
    """Where its ``forward`` begins."""


@dataclass(frozen=True)
class LateHook:
    """A hook that a module got after it was compiled, and for which no guard looks."""

    module: str
    """The module's path in what was compiled, and its class."""
    kind: str
    """The table that has it: ``_forward_hooks``, …."""
    place: Place | None
    """Where the hook's code begins."""


@dataclass(frozen=True)
class KernelFile:
    """One kernel of a program of Inductor's, in a file of its own."""

    key: CompileKey
    name: str
    program: str
    """The file of the program."""
    file: str
    kind: str = field(default="", metadata=SPARSE)
    """Inductor's method that compiles it: ``cpp_pybinding``, ``triton``, …."""
    line: int = field(default=0, metadata=SPARSE)
    """The line of the program on which it is defined."""
    calls: tuple[int, ...] = field(default=(), metadata=SPARSE)
    """The lines of the program that call it."""
    nodes: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """The nodes that it computes, by the names that the program's comments have."""
    exact: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """The same in the graph from which the program was generated, where Inductor tells."""


@dataclass(frozen=True)
class ExternCall:
    """A call in a program of Inductor's of a kernel that is a library's, not its own."""

    key: CompileKey
    name: str
    """What is called: ``extern_kernels.mm``."""
    program: str
    line: int
    nodes: tuple[str, ...] = field(default=(), metadata=SPARSE)
    exact: tuple[str, ...] = field(default=(), metadata=SPARSE)


@dataclass(frozen=True)
class Started:
    """Dynamo began to look at a frame."""

    key: CompileKey
    place: Place | None
    stack: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The user's calls that led there, outermost first."""


@dataclass(frozen=True)
class Guard:
    """One leaf guard of a cache entry."""

    kind: str
    text: str
    """As torch words it, without addresses."""
    user_line: str
    """The user's line for which it was made, and where it is: torch cuts its path."""
    expression: str | None
    """The call that decides it in the dumped file; None where only the captured process can."""
    source: str = ""
    """The value that it is about, as torch words it; empty for the state of the process."""
    line: int = field(default=0, metadata=SPARSE)
    """The line of the full code on which it stands; 0 when it stands on none."""
    place: Place | None = field(default=None, metadata=IN_FILE)
    """The line of the user's for which it was made: ``way``, or ``user_line`` in its file."""
    way: Place | None = field(default=None, metadata=SPARSE)
    """The line of the user's that led to ``user_line``, where that is a library's."""


@dataclass(frozen=True)
class CacheEntry:
    """One compiled version of a code object, in the order in which torch tries them."""

    key: CompileKey
    guards: tuple[Guard, ...]
    body: tuple[str, ...] = field(default=(), metadata=IN_FILE)
    """The guards as lines of a generator's body; one guard for each ``yield`` that may fail."""
    kept: Any = field(default=None, repr=False, compare=False, metadata=IN_FILE)
    """What the body's numbers stand for in this process: a ``guard_objects.Kept``."""
    forms: tuple[str, ...] = field(default=(), metadata=IN_FILE)
    """Each form of a line of the body once, for who asks what is in all of them."""
    forgotten: bool = field(default=False, metadata=SPARSE)
    """Whether torch was reset since: no call is checked by these guards any more."""


@dataclass(frozen=True)
class Problem:
    """Something of ours that went wrong, or a feature that this torch does not allow."""

    where: str
    what: str
    detail: str = ""
