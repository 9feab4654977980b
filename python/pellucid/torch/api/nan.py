# SPDX-License-Identifier: Apache-2.0
"""``find_nan``: the operation of a compiled program that produces the first NaN or Inf."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from pellucid.brief import Report
from pellucid.dump.model.cells import located
from pellucid.dump.model.differences import Compiled
from pellucid.dump.model.events import NonFinite, Place, Skipped
from pellucid.dump.model.graph_text import FILE_COMMENT
from pellucid.dump.store.session import Session, left_alone

from ..capture.connection import CAPTURE
from ..taps import calls, doors, graph_hooks
from .prepare import prepare_debug
from .seen import Seen, left_one, run

if TYPE_CHECKING:
    import torch

    from .program_state import ProgramState
    from .watch import Watch

_SHOWN = 4
"""The number of similar items that are listed."""


@dataclass(frozen=True, repr=False)
class NanReport(Report):
    """The result of :func:`find_nan`; true if it found a NaN or Inf."""

    findings: tuple[NonFinite, ...]
    """Each operation that produced NaN or Inf from arguments without one, in execution order."""
    results: tuple[str, ...]
    """Which results and gradients are not finite, with a summary of each."""
    graphs: int
    """How many compiled graphs ran."""
    backward: bool
    """Whether a backward pass was checked."""
    left: tuple[Skipped, ...]
    """The frames that torch skipped."""
    directory: Path | None
    """Where the graphs are dumped; None if no capture was open and no file has to be shown."""
    as_it_runs: tuple[str, ...] = ()
    """What is not finite if the program runs its own compiled code, but finite if its graphs run
    operation by operation."""
    compiled: tuple[Compiled, ...] = ()
    """The program's compiled functions; empty if the function was compiled for this report."""
    unseen: tuple[str, ...] = ()
    """What was not checked, one sentence each."""

    @property
    def first(self) -> NonFinite | None:
        """The operation to look at first.

        This is the first one whose NaN or Inf reached a result or a gradient, or else the first
        one.
        """
        reached = [finding for finding in self.findings if finding.reached]
        return next(iter(reached or self.findings), None)

    @property
    def operation(self) -> str | None:
        """The name of that operation, ``aten.log.default``; None if there is none."""
        return None if self.first is None else self.first.operation

    @property
    def names_files(self) -> bool:
        """Return true if a dumped file is named."""
        return any(finding.file for finding in self.findings)

    def __bool__(self) -> bool:
        return bool(self.findings or self.results or self.as_it_runs)

    def __str__(self) -> str:
        passes = "forward and backward" if self.backward else "forward only"
        seen = f"{self.graphs} compiled graph{'' if self.graphs == 1 else 's'}, {passes}"
        lines = [self._of_operations(seen), *self._only_as_it_runs()]
        lines += [f"  as it runs: {one}" for one in self.compiled if one.calls]
        lines += [f"  not looked at {line}" for line in self.unseen]
        return "\n".join(lines)

    def _only_as_it_runs(self) -> list[str]:
        if not self.as_it_runs:
            return []
        return [
            "  only as your program runs it, with its own caches, guards and settings "
            "(find_difference finds the cause):",
            *(f"    {line}" for line in self.as_it_runs[:_SHOWN]),
        ]

    def _of_operations(self, seen: str) -> str:
        if self.first is None:
            return self._without_finding(seen)
        lines = [*_told(self.first, self.directory), *self._consequence()]
        later = [finding for finding in self.findings if finding is not self.first]
        if later:
            more = [f"and {len(later) - _SHOWN} more"] if len(later) > _SHOWN else []
            shown = [*map(_brief, later[:_SHOWN]), *more]
            lines += ["  also found:", *(f"    {line}" for line in shown)]
        lines.append(f"  looked at: {seen}")
        return "\n".join(lines)

    def _without_finding(self, seen: str) -> str:
        if not self.graphs:
            lines = ["find_nan: nothing was compiled, so no graph was checked"]
            lines += [f"  not compiled: {left_one(event)}" for event in self.left[:_SHOWN]]
            return "\n".join(lines)
        if self.results:
            return "\n".join(
                [
                    f"find_nan: no operation of the compiled graphs produced a NaN or Inf "
                    f"({seen}),",
                    "but the results contain some; the code between the graphs produced them:",
                    *(f"  {line}" for line in self.results),
                ]
            )
        if self.as_it_runs:
            return f"find_nan: no operation in the graphs produces a NaN or Inf ({seen})"
        return f"find_nan: clean, no NaN and no Inf ({seen})"

    def _consequence(self) -> list[str]:
        if self.results:
            more = len(self.results) - _SHOWN
            shown = [f"  shows in    {line}" for line in self.results[:_SHOWN]]
            return [*shown, f"              and {more} more"] if more > 0 else shown
        if self.first is not None and self.first.reached:
            return ["  it left the compiled graphs, but the results are finite"]
        return ["  no result contains it: it was masked out later"]


def find_nan(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> NanReport:
    """Find the first operation of a compiled function that produces a NaN or Inf.

    The function runs once as it is, with its own caches, guards and settings, and once with
    AOTAutograd's graphs run one operation at a time, which is slow.  It changes what one call would
    change.  If the result can be differentiated and ``fn`` has not run a backward pass itself, the
    gradients are computed too and discarded: ``.grad`` does not change.  The graphs are written
    into the open capture or, if there is none, into a temporary directory, which is kept if the
    report names a file in it.

    Args:
        fn: a function or module, compiled or not; functions that it calls may be compiled.
        args, kwargs: the arguments of the call.

    Returns:
        A report; ``print`` it.

    Raises:
        Exception: whatever ``fn`` raises.
    """
    if CAPTURE.innermost is not None:
        return _watched(CAPTURE.innermost, fn, args, kwargs)
    made, report = Path(tempfile.mkdtemp(prefix="pellucid_find_nan_")), None
    try:
        with prepare_debug(made) as session:
            session.warns_when_empty = False  # the report says it
            report = _watched(session, fn, args, kwargs)
    finally:
        if report is None or not report.names_files:
            shutil.rmtree(made, ignore_errors=True)
    return report if report.names_files else replace(report, directory=None)


def _watched(
    session: Session, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> NanReport:
    from .program_state import ProgramState
    from .watch import Watch

    watch, before = Watch(session), left_alone(session)
    state, own = ProgramState(fn, args, kwargs), Seen(session)
    with calls.watched(own.enter):
        as_it_runs = run(fn, args, kwargs)
    after = state.now()
    unseen: list[str] = []
    odd = [*_odd("result", _tensors(as_it_runs)), *_left_odd(state, after)]
    results: list[str] = []
    with calls.versions_kept([kept.tensor for kept in after.tensors]):
        try:
            state.restore()
            results += _looked_into(fn, args, kwargs, watch, own)
            results += _left_odd(state, state.now())
        except Exception as error:
            unseen.append(f"the operations: {brief(error)}")
            watch = Watch(session)  # findings of an incomplete run do not count
        finally:
            after.restore()
    findings = tuple(_located(session, finding) for finding in watch.findings)
    for finding in findings:
        session.record(finding)
    left = tuple(event for event in left_alone(session) if event not in before)
    backward = watch.backwards > 0
    named = {_named(line) for line in results}
    only = tuple(line for line in odd if _named(line) not in named)
    return NanReport(
        findings,
        tuple(results),
        len(watch.ran),
        backward,
        left,
        session.directory,
        as_it_runs=only,
        compiled=own.compiled(),
        unseen=(*unseen, *_ahead(fn, own), *own.ran_eager()),
    )


def _ahead(fn: Any, own: Seen) -> list[str]:
    """Return the functions compiled ahead of time, whose graphs cannot be interpreted."""
    names = [name for name, way in own.functions if way == calls.AHEAD]
    is_one = doors.traceable(fn) is not fn
    return [] if is_one else [f"the operations of `{n}`, compiled ahead of time" for n in names]


def _looked_into(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], watch: Watch, own: Seen
) -> list[str]:
    """Run the program through interpreted graphs; return the non-finite results and gradients."""
    import torch

    plain = graph_hooks.uncompiled(doors.traceable(fn))
    with graph_hooks.every_compile_by(watch.backend) as forced:
        compiles = forced and own.compiles
        result = run(fn if compiles else torch.compile(plain, backend=watch.backend), args, kwargs)
        gradients = _gradients(result, watch, _names(fn, args, kwargs))
    return [*_odd("result", _tensors(result)), *gradients]


def _left_odd(before: ProgramState, after: ProgramState) -> list[str]:
    """Return the tensors and gradients that became non-finite during a run."""
    from .watch import values_of

    def odd(state: ProgramState) -> dict[str, str]:
        pairs = [(one.path, one.content) for one in state.tensors]
        pairs += [
            (f"gradient of {one.path}", one.grad_content)
            for one in state.tensors
            if one.grad_content is not None
        ]
        told = {name: values_of(name, tensor) for name, tensor in pairs}
        return {name: str(values) for name, values in told.items() if values.nan or values.inf}

    known = odd(before)
    return [line for name, line in odd(after).items() if name not in known]


def _named(line: str) -> str:
    """Return the subject of a line of the report."""
    return line.partition(": ")[0]


_NAMES_A_LINE = re.compile(rf"\s*{FILE_COMMENT}")


def _located(session: Session, finding: NonFinite) -> NonFinite:
    """Find the line of the dumped graph that computes a value."""
    if not finding.file:
        return finding
    file, place = session.path(finding.file), finding.place
    return replace(finding, line=located_line(file, finding.node, finding.operation, place))


def located_line(file: Path, node: str, operation: str, place: Place | None = None) -> int:
    """Return the line of a dumped graph on which a value is computed; 0 if there is none.

    Args:
        file: the dumped file.
        node: the value's name.
        operation: the full name of the operation that computes it.
        place: the user's line, if it is known.
    """
    made = re.compile(rf"^\s*{re.escape(node)}(?:: \".*?\")? = ")
    places = [] if place is None else [f"{place} in "]
    number = 0
    with contextlib.suppress(OSError):
        text, told = file.read_text(encoding="utf-8"), ""
        for count, line in enumerate(text.split("\n"), 1):
            told = line if _NAMES_A_LINE.match(line) else told
            if made.match(line):
                # A nested graph can have a value with the same name.
                if operation in line and any(place in told for place in places):
                    return count
                number = number or count
    return number


# -- results ---------------------------------------------------------------------------------------


def _tensors(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a result, including those in ordinary containers."""
    import torch

    found, pending, seen = [], [value], set()
    while pending:
        item = pending.pop(0)
        if isinstance(item, torch.Tensor):
            found.append(item)
        elif id(item) not in seen:
            seen.add(id(item))
            if isinstance(item, dict):
                pending.extend(item.values())
            elif isinstance(item, (list, tuple, set, frozenset)):
                pending.extend(item)
            elif hasattr(item, "__dataclass_fields__"):
                pending.extend(vars(item).values())
    return found


def _odd(what: str, tensors: list[torch.Tensor]) -> list[str]:
    from .watch import values_of

    lines = []
    for number, tensor in enumerate(tensors):
        values = values_of(what if len(tensors) == 1 else f"{what} {number}", tensor)
        if values.nan or values.inf:
            lines.append(str(values))
    return lines


def _names(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, str]:
    """Return names for the tensors that a call is known to read, by identity."""
    import torch

    names = {}
    for key, value in [*((f"argument {n}", v) for n, v in enumerate(args)), *kwargs.items()]:
        for tensor in _tensors(value):
            names[id(tensor)] = key
    cells = [cell.cell_contents for cell in getattr(fn, "__closure__", None) or () if _full(cell)]
    for owner in [graph_hooks.uncompiled(fn), getattr(fn, "__self__", None), *args, *cells]:
        if isinstance(owner, torch.nn.Module):
            names.update(
                {id(p): name for name, p in graph_hooks.uncompiled(owner).named_parameters()}
            )
    return names


def _full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _gradients(result: Any, watch: Watch, names: dict[int, str]) -> list[str]:
    """Differentiate a result unless the program has done so; return the non-finite gradients.

    The gradients are those of the sum of everything differentiable.
    """
    import torch

    roots = [t for t in _tensors(result) if t.requires_grad and t.grad_fn is not None]
    if not roots or watch.backwards:
        return []
    leaves = _leaves(roots)
    before = [leaf.grad for leaf in leaves]
    lines = []
    try:
        for leaf in leaves:
            leaf.grad = None
        torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
        for leaf in leaves:
            if leaf.grad is not None:
                lines += _odd(f"gradient of {names.get(id(leaf), 'an input')}", [leaf.grad])
    finally:
        for leaf, gradient in zip(leaves, before):
            leaf.grad = gradient
    return lines


def _leaves(roots: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensors whose ``.grad`` is written by a backward pass from these roots."""
    import torch

    leaves, pending, seen = [], [root.grad_fn for root in roots], set()
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if isinstance(variable, torch.Tensor) and variable.is_leaf:
            leaves.append(variable)
        pending.extend(next_node for next_node, _ in node.next_functions)
    return leaves


# -- text ------------------------------------------------------------------------------------------


def _told(finding: NonFinite, directory: Path | None) -> list[str]:
    what, pass_ = finding.what, finding.stage
    if pass_ == "input":
        where = f"from outside, in {finding.operation}, compile [{finding.key}]"
        lines = [f"find_nan: {what} came into a compiled graph {where}"]
    else:
        lines = [f"find_nan: {finding.operation} produced the first {what} ({pass_} pass)"]
    if finding.place is not None:
        code = f": {finding.code}" if finding.code else ""
        lines.append(f"  your line   {located(finding.place)} in {finding.place.function}{code}")
    if finding.file:
        line = f":{finding.line}" if finding.line else ""
        lines.append(f"  in the dump {os.path.join(str(directory), finding.file)}{line}")
    lines += [f"  input       {values}" for values in finding.inputs]
    lines.append(f"  {'value ' if pass_ == 'input' else 'output'}      {finding.output}")
    return lines


def brief(error: BaseException) -> str:
    """Return an exception on one line."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _brief(finding: NonFinite) -> str:
    where = "" if finding.place is None else f" at {finding.place}"
    if finding.stage == "input":
        return f"{finding.operation} was passed in with {finding.what}{where}"
    return f"{finding.operation} produced {finding.what} ({finding.stage}){where}"
