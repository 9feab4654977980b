# SPDX-License-Identifier: Apache-2.0
"""The first difference between two stages of a compile: as plain values, in words, and as JSON."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from pellucid.brief import Report, counted

from .cells import located
from .keys import CompileKey, Place
from .observed import Parting, Values

_SHOWN = 4
"""The number of similar items to report."""
STATE = "Python state"
"""The operation's name if only the state of the program differs."""
OWN = "as it runs"
"""The stage that the program itself compiled, with its own caches and guards."""
STAGE_NAMES = {
    "eager": "the eager program",
    "captured": "Dynamo's graph (captured)",
    "AOT": "AOTAutograd's graph (AOT)",
    "post-grad": "the graph after Inductor's passes (post-grad)",
    "program": "Inductor's program",
    OWN: "the compiled code that the program runs",
}
"""The names of the stages in sentences."""


def _finite(value: Any) -> Any:
    """Replace non-finite numbers by the strings ``NaN``, ``Infinity`` and ``-Infinity``."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return json.dumps(value) if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Distance:
    """The distance between two tensors of the same shape."""

    parted: int
    """The number of elements that differ by more than the tolerance."""
    elements: int
    most: float | None
    """The largest difference between two elements; None if the shapes differ."""
    before: float | None
    """The element in the earlier stage."""
    after: float | None
    """The element in the later stage."""
    at: tuple[int, ...]
    """The index of these elements."""

    def __str__(self) -> str:
        if self.most is None:
            return "different shapes"
        if self.elements == 1:
            return f"{self.before:.8g}, then {self.after:.8g}"
        many = f"{self.parted:,} of {self.elements:,} elements differ"
        return f"{many}, most at {list(self.at)}: {self.before:.8g}, then {self.after:.8g}"


@dataclass(frozen=True)
class Nearer:
    """Which of two values is closer to one computed in a more precise type."""

    reference: str
    """The type: ``float64``."""
    before: float
    """Root mean square of the earlier stage's distance from the reference."""
    after: float
    stages: tuple[str, str]
    """The two stages."""

    @property
    def stage(self) -> str:
        """Return the stage that is closer; empty if neither is."""
        if self.before < self.after:
            return self.stages[0]
        return self.stages[1] if self.after < self.before else ""

    def __str__(self) -> str:
        which = f"{self.stage} is closer" if self.stage else "both are equally close"
        off = zip(self.stages, (self.before, self.after))
        told = ", ".join(f"{stage} off by {by:.3g}" for stage, by in off)
        return f"{which} to {self.reference}: {told} (root mean square)"


@dataclass(frozen=True)
class StageOperation:
    """One operation of a stage."""

    operation: str
    """``aten.silu.default``; empty if the stage has no corresponding operation."""
    node: str
    """The value's name in the dumped graph."""
    file: str
    """The dumped file; empty for the eager program."""
    line: int
    """Its line in that file; 0 if it was not found."""
    values: Values | None
    """Its result."""


@dataclass(frozen=True)
class Parted:
    """A result, gradient or tensor of the program that differs in a later stage."""

    name: str
    before: str
    after: str
    distance: Distance | None = None
    nearer: Nearer | None = None

    def __str__(self) -> str:
        if self.distance is None:
            return f"{self.name}: {self.before}, then {self.after}"
        return f"{self.name}: {self.distance}"


@dataclass(frozen=True)
class StateChange:
    """A Python-visible change that one stage makes and another does not."""

    name: str
    """Its name in the program: ``self.log``."""
    before: str
    """Its value before the call."""
    eager: str
    """Its value after the eager call."""
    compiled: str
    """Its value after the compiled call."""
    place: Place | None = None
    """The line of the program that changes it, if there is one."""
    code: str = ""

    def __str__(self) -> str:
        if self.compiled == self.before:
            return (
                f"{self.name}: eager changes it to {self.eager}; compiled code keeps {self.before}"
            )
        if self.eager == self.before:
            return (
                f"{self.name}: compiled code changes it to {self.compiled}; "
                f"eager keeps {self.before}"
            )
        return f"{self.name}: eager changes it to {self.eager}, compiled code to {self.compiled}"


@dataclass(frozen=True)
class Compiled:
    """A compiled function that the program calls."""

    name: str
    way: str
    """``torch.compile``, or ``compiled ahead of time``."""
    calls: int
    """The number of compiled calls compared with eager; for ``find_nan``, the number of calls."""
    versions: int
    """The number of compiled versions that ran; 0 if unknown."""

    def __str__(self) -> str:
        versions = f", {counted(self.versions, 'compiled version')}" if self.versions else ""
        way = "" if self.way == "torch.compile" else f", {self.way}"
        return f"`{self.name}`: {counted(self.calls, 'call')}{versions}{way}"


@dataclass(frozen=True)
class Smallest:
    """The smallest graph found that compiled code still computes differently from eager."""

    program: str
    """The file of a program that runs it compiled and in eager, and fails while they differ."""
    operations: int
    """The number of its operations."""
    of: int
    """The number of operations of the whole graph."""

    def __str__(self) -> str:
        many = f"{self.operations:,} of {counted(self.of, 'operation')}"
        return f"python {self.program} shows it with {many}"


@dataclass(frozen=True)
class Cure:
    """A change of torch under which compiled code and eager agree."""

    change: str
    """A statement to run before the program; empty if none of those tried helps."""
    tried: int
    """The number of changes that were tried."""
    before: float = 0.0
    """The seconds of one call without the change; 0 if it raises."""
    after: float = 0.0
    """The seconds of one call with it."""
    agrees_afresh: bool = False
    """Whether a fresh compile without any change agrees already."""
    smallest: Smallest | None = None
    """The smallest graph that still differs, if no change helps."""
    untried: str = ""
    """Why no change was tried."""

    def __str__(self) -> str:
        if self.agrees_afresh:
            return "not needed: a fresh compile agrees with eager"
        if self.untried:
            return f"no change was tried: {self.untried}"
        if not self.change:
            if self.tried == 1:
                return "the one change tried does not help"
            return f"none of the {self.tried} changes tried helps"
        before, after = (f"{seconds * 1e3:.3g} ms" for seconds in (self.before, self.after))
        without = f", without it {before}" if self.before else ""
        return f"{self.change} (a call takes {after}{without})"


@dataclass(frozen=True, repr=False)
class Difference(Report):
    """The result of :func:`~pellucid.find_difference`; true if there is a difference."""

    stage: str = ""
    """The first stage that differs; empty if none does.

    One of ``captured``, ``AOT``, ``post-grad`` and ``program``; ``as it runs`` if a fresh compile
    agrees and only the program's own compiled code differs."""
    previous: str = ""
    """The last stage that agrees with eager."""
    direction: str = ""
    """``forward`` or ``backward``; empty if no operation is named."""
    operation: str = ""
    """The first operation whose result differs, as named in the earlier stage:
    ``aten.silu.default``; ``Python state`` if only that differs."""
    before: StageOperation | None = None
    """The operation in the earlier stage."""
    after: StageOperation | None = None
    """The same operation in the stage that differs."""
    distance: Distance | None = None
    nearer: Nearer | None = None
    place: Place | None = None
    """The line of the program."""
    code: str = ""
    """The text of that line."""
    fused: tuple[str, ...] = ()
    """The nodes computed in the same kernel."""
    note: str = ""
    """How the operation was found, if not from its own result."""
    results: tuple[Parted, ...] = ()
    """The results, gradients and tensors of the program that differ."""
    state: tuple[StateChange, ...] = ()
    """Attributes, lists, dictionaries and globals that differ between eager and compiled code."""
    stages: tuple[str, ...] = ()
    """The stages that ran, in order."""
    graphs: int = 0
    """The number of compiled graphs."""
    backward: bool = False
    """Whether gradients were compared."""
    notes: tuple[str, ...] = ()
    directory: str = ""
    """The directory of the dumped graphs; empty if no file needs to be shown."""
    tolerance: str = ""
    cure: Cure | None = None
    """The change that makes them agree, if it was asked for."""
    within_rounding: tuple[Parted, ...] = field(default=())
    """Results beyond the tolerance that are as close to float64 in compiled code as in eager."""
    function: str = ""
    """The compiled function whose call differs, if the program makes the call itself."""
    call: int = 0
    """The number of the call, starting at 1."""
    called: Place | None = None
    """The line of the program that makes this call."""
    called_code: str = ""
    cause: str = ""
    """Why a fresh compile agrees although the program's own compiled code does not."""
    remedy: str = ""
    """What to do about it."""
    compiled: tuple[Compiled, ...] = ()
    """The compiled functions of the program that were compared as they run."""
    compiled_here: str = ""
    """The function that was compiled for this report, if the program compiles nothing itself."""
    unseen: tuple[str, ...] = ()
    """What was not compared, one sentence each."""

    def __bool__(self) -> bool:
        return bool(self.stage or self.results or self.state)

    @property
    def names_files(self) -> bool:
        """Return true if a file in the directory is named."""
        small = self.cure is not None and self.cure.smallest is not None
        return small or any(made is not None and made.file for made in (self.before, self.after))

    @property
    def line(self) -> int:
        """The line of the dumped file that computes the other value; 0 if there is none."""
        return self.after.line if self.after is not None else 0

    @property
    def file(self) -> str:
        """The dumped file of that line; empty if there is none."""
        return self.after.file if self.after is not None else ""

    def as_event(self, key: CompileKey) -> Parting:
        """Return the event for a capture: the first operation, and the state of the program."""
        before, after = self.before, self.after
        words = self.distance or next(iter(self.results), "")
        return Parting(
            key,
            self.stage,
            self.previous,
            self.direction,
            self.operation,
            before=before.values if before is not None else None,
            after=after.values if after is not None else None,
            words=str(words),
            nearer=str(self.nearer or ""),
            state=tuple(map(str, self.state)),
            place=self.place,
            code=self.code,
            file=self.file,
            line=self.line,
            cause=self.cause,
            remedy=self.remedy,
        )

    def as_json(self) -> str:
        """Return all of it as JSON; NaN and infinities, which JSON lacks, become strings."""
        plain = {"tool": "pellucid", "different": bool(self), **asdict(self)}
        return json.dumps(_finite(plain), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def __str__(self) -> str:
        passes = "forward and backward" if self.backward else "forward only"
        seen = f"{self.graphs} graph{'' if self.graphs == 1 else 's'}, {passes}"
        if not self:
            lines = [self._clean(seen)]
        else:
            lines = [*self._headline(), *self._operation(), *self._consequence()]
            lines += self._state_lines()
            if self.cure is not None:
                lines.append(f"  cure         {self.cure}")
                small = self.cure.smallest
                lines += [f"  smallest     {small}"] if small is not None else []
            lines += self._looked_at(seen)
        if self.within_rounding:
            lines.append("  rounding     beyond the tolerance, but as near to float64 as eager is:")
            lines += [f"               {part.name}" for part in self.within_rounding[:_SHOWN]]
        lines += [f"  note         {note}" for note in self.notes]
        return "\n".join(lines)

    def _clean(self, seen: str) -> str:
        if not self.graphs:
            nothing = "find_difference: nothing was compiled, so there was nothing to compare"
            return "\n".join([nothing, *(f"  not looked at {line}" for line in self.unseen)])
        between = "eager and the compiled code that ran" if self.compiled else ""
        headline = f"find_difference: no difference between {between or ', '.join(self.stages)}"
        return "\n".join([headline, *self._looked_at(seen)])

    def _looked_at(self, seen: str) -> list[str]:
        """Return what was compared, and what was not."""
        what = f"{seen}, and what each call leaves in the program; {self.tolerance}"
        if self.compiled:
            how = "as your program runs it, with its own caches, guards and settings"
            lines = [f"  looked at    {one}" for one in self.compiled if one.calls]
            lines += [f"               {how}; {what}"]
        else:
            lines = [f"  looked at    {', '.join(self.stages)}; {what}"]
        unseen = list(self.unseen)
        if self.compiled_here:
            unseen.append(
                f"caches and guards: `{self.compiled_here}` runs nothing compiled, so it was "
                "compiled for this report"
            )
        return lines + [f"  not looked at {line}" for line in unseen]

    def _headline(self) -> list[str]:
        if self.stage == OWN:
            return [
                f"find_difference: the compiled `{self.function}` that your program runs computes "
                "a different result from eager"
            ]
        if self.operation == STATE:
            return [
                "find_difference: the compiled function leaves the program in a different state"
            ]
        earlier, later = STAGE_NAMES[self.previous], STAGE_NAMES[self.stage]
        if not self.operation:
            return [
                f"find_difference: {later} gives different results from {earlier}; "
                "no single operation was found that differs"
            ]
        what = f"{self.operation} ({self.direction} pass)"
        if self.before is None:
            return [f"find_difference: {later} runs {what}, and {earlier} does not"]
        if self.after is None:
            return [f"find_difference: {earlier} runs {what}, and {later} does not"]
        return [f"find_difference: {later} computes {what} differently from {earlier}"]

    def _operation(self) -> list[str]:
        lines = []
        if self.place is not None:
            code = f": {self.code}" if self.code else ""
            lines.append(f"  your line    {located(self.place)} in {self.place.function}{code}")
        if self.called is not None:
            code = f": {self.called_code}" if self.called_code else ""
            told = "" if self.called == self.place else f", at {located(self.called)}{code}"
            lines.append(f"  call         number {self.call} of `{self.function}`{told}")
        if self.cause:
            lines += [f"  cause        {self.cause}", f"  change       {self.remedy}"]
        for stage, made in ((self.previous, self.before), (self.stage, self.after)):
            if made is None or not made.operation:
                continue
            if made.file:
                at = f":{made.line}" if made.line else ""
                where = os.path.join(self.directory, made.file) + at
                lines.append(f"  {stage:12} {made.operation} in {where}")
            if made.values is not None:
                told = str(made.values)
                lines.append(f"  {'' if made.file else stage:12} {told}")
        if self.distance is not None:
            lines.append(f"  difference   {self.distance}")
        if self.nearer is not None:
            lines.append(f"  closer       {self.nearer}")
        if self.fused:
            lines.append(f"  one kernel   computes it with {', '.join(self.fused)}")
        if self.note:
            lines.append(f"  found by     {self.note}")
        return lines

    def _consequence(self) -> list[str]:
        lines = [f"  shows in     {part}" for part in self.results[:_SHOWN]]
        first = self.results[0].nearer if self.results else None
        if first is not None:
            lines.insert(1, f"               {first}")
        more = len(self.results) - _SHOWN
        return [*lines, f"               and {more} more"] if more > 0 else lines

    def _state_lines(self) -> list[str]:
        lines = []
        for change in self.state[:_SHOWN]:
            lines.append(f"  state        {change}")
            if change.place is not None and change.place != self.place:
                code = f": {change.code}" if change.code else ""
                where = f"{located(change.place)} in {change.place.function}"
                lines.append(f"               at {where}{code}")
        more = len(self.state) - _SHOWN
        return [*lines, f"               and {more} more"] if more > 0 else lines
