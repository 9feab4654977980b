# SPDX-License-Identifier: Apache-2.0
"""The search for a difference: stage by stage, then operation by operation."""

from __future__ import annotations

import functools
import linecache
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from pellucid.dump.model.differences import (
    STATE,
    Difference,
    Nearer,
    Parted,
    StageOperation,
    StateChange,
)
from pellucid.dump.model.events import Frame, Place
from pellucid.dump.store.session import Session, left_alone

from .closeness import Tolerance, errors, is_numeric, same_kind
from .effects import changed_state, changing_line
from .generators import GENERATORS
from .isolate import first_in_kernel
from .nan import located_line
from .parting import Pair, counterpart, first_parted, last_write, other_draw
from .recording import Made, Recording, wide_values
from .seen import left_one
from .stages import AOT, CAPTURED, EAGER, POST_GRAD, PROGRAM, STAGES, Outcome, Stages
from .watch import values_of

_FULL = Tolerance(0.0, 0.0)
_MOST_NOTES = 8
_ROUNDING = 4.0
"""How many times eager's own distance from float64 a compiled result may have."""


class Search:
    """One call of ``find_difference``."""

    def __init__(
        self,
        session: Session,
        stages: Stages,
        reference: Any,
        tolerance: Tolerance,
        until: str = PROGRAM,
    ) -> None:
        self.session, self.tolerance, self.reference = session, tolerance, reference
        self.until = until
        """The last stage to compare."""
        self.stages = stages
        self.run_stages: list[str] = []
        self.graphs = 0
        self.rounding: list[Parted] = []
        self.drawn_again: dict[str, None] = {}
        """The stages that leave a generator in a different state but compute the same results."""
        self.eager: Outcome
        """The outcome of the eager run."""
        self._true: Outcome | None = None

    def run(self) -> Difference:
        """Search; the program's values are restored on return."""
        self.eager = self.run_stage(EAGER)
        return self.told(*self.staged())

    def staged(self) -> tuple[Difference | None, list[StateChange]]:
        """Compile stage by stage up to the first that differs from eager, which has run already."""
        found: Difference | None = None
        changes: list[StateChange] = []
        with self.stages.compiling(programs=False):
            self._compile(CAPTURED)
            captured = self.run_stage(CAPTURED)
            changes = self._located(self.changes(captured))
            self.graphs = len(self.stages.graphs)
            if self.graphs:
                found = self._compared(captured, EAGER) or self._next(AOT, CAPTURED)
        if found is None and self.graphs and self.until != AOT:
            with self.stages.compiling(programs=True):
                self._compile(PROGRAM)
                if not self.stages.no_program:
                    found = self._next(POST_GRAD, AOT) or self._next(PROGRAM, POST_GRAD)
        return found, changes

    def _compile(self, stage: str) -> None:
        """Run once to compile; the results are checked in later runs."""
        outcome = self.stages.run(stage)
        if outcome.error is not None:
            raise outcome.error

    def run_stage(self, stage: str) -> Outcome:
        """Run the function through one stage.

        Raises:
            Exception: whatever that run raises.
        """
        outcome = self.stages.run(stage)
        if outcome.error is not None:
            raise outcome.error
        self.run_stages.append(stage)
        return outcome

    def _next(self, stage: str, previous: str) -> Difference | None:
        return self._compared(self.run_stage(stage), previous)

    # -- one stage against eager --

    def _compared(self, outcome: Outcome, previous: str) -> Difference | None:
        """Return where a stage diverges; None if its results equal eager's."""
        parted = self.parted(outcome)
        if not parted:
            return None
        found = Difference(stage=outcome.stage, previous=previous, results=tuple(parted))
        before, after = self._recorded(previous), self._recorded(outcome.stage)
        pair = first_parted(outcome.stage, before.made, after.made, self.tolerance)
        note = ""
        if pair is None or (pair.before is not None and pair.before.draws):
            drawn = other_draw(before.made, after.made)
            note = "counting the operations that draw random numbers" if drawn is not None else ""
            pair = drawn or pair
        if pair is None:
            pair = self._lost_write(parted, before, after)
            note = "looking for the last operation that writes to it" if pair is not None else ""
        if pair is None and all(part.name.startswith(GENERATORS) for part in parted):
            # A backward pass may redraw random numbers instead of saving them.
            self.drawn_again[outcome.stage] = None
            return None
        if pair is None:
            return found
        return self._named(replace(found, note=note), pair, before, after)

    def parted(self, outcome: Outcome) -> list[Parted]:
        """Return the results, gradients and tensors that differ from eager."""
        eager = self.eager
        pairs = [
            (name, eager.results.get(name, _ABSENT), outcome.results.get(name, _ABSENT))
            for name in dict.fromkeys([*eager.results, *outcome.results])
        ]
        changes, tensors = changed_state(eager.state, eager.state, outcome.state, self.tolerance)
        pairs += [(path, eager.state[path], outcome.state[path]) for path in tensors]
        found = [
            Parted(change.name, "the same state as after eager", "a different state")
            for change in changes
            if change.name.startswith(GENERATORS)
        ]
        for name, one, other in pairs:
            if one is _ABSENT or other is _ABSENT:
                found.append(Parted(name, _word(one), _word(other)))
            elif self.tolerance.part_values(one, other):
                part = self._part(name, one, other)
                rounding = self._is_rounding(part) and same_kind(one, other)
                (self.rounding if rounding else found).append(part)
        self.rounding = list({part.name: part for part in self.rounding}.values())
        return found

    def _part(self, name: str, one: Any, other: Any) -> Parted:
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            return Parted(name, _word(one), _word(other))
        if (one.device, one.layout) != (other.device, other.layout):
            return Parted(name, _kind(one), _kind(other))
        if one.dtype != other.dtype:
            return Parted(name, _word(one), _word(other))
        distance = self.tolerance.distance(one, other)
        nearer = None
        if is_numeric(one) and (self.reference is not None or self.tolerance.is_default):
            true = self._truth(name)
            nearer = None if true is None else _nearer(one, other, true, "eager", "compiled")
        return Parted(name, _word(one), _word(other), distance, nearer)

    def _is_rounding(self, part: Parted) -> bool:
        """Return true if a result differs but is no worse than eager's own."""
        nearer = part.nearer
        if nearer is None or not self.tolerance.is_default:
            return False
        return nearer.after <= _ROUNDING * nearer.before

    def _truth(self, name: str) -> torch.Tensor | None:
        outcome = self._wide_run()
        value = outcome.results.get(name, outcome.state.get(name))
        return value if isinstance(value, torch.Tensor) else None

    def _wide_run(self) -> Outcome:
        """Return the recorded run of the eager program in float64, which may be incomplete."""
        if self._true is None:
            self._true = self.stages.run(EAGER, Recording(wide=True), wide=True)
        return self._true

    # -- operations --

    def _recorded(self, stage: str) -> Outcome:
        return self.stages.run(stage, Recording())

    def _lost_write(self, parted: list[Parted], before: Outcome, after: Outcome) -> Pair | None:
        for part in parted:
            for kept in self.stages.state.tensors:
                if kept.path == part.name:
                    pair = last_write(kept.memory, before.made, after.made)
                    if pair is not None:
                        return pair
        return None

    def _named(self, found: Difference, pair: Pair, before: Outcome, after: Outcome) -> Difference:
        one, other = pair
        fused: tuple[str, ...] = ()
        if found.stage == PROGRAM and one is not None and other is not None:
            one, other, fused, note = self._in_kernel(one, other, before)
            found = replace(found, note=note)
        made = one or other
        assert made is not None
        place, code = self._line(one, other)
        result = replace(
            found,
            direction=made.direction,
            operation=made.operation,
            before=self._side(one, other),
            after=self._side(other, one),
            place=place,
            code=code,
            fused=fused,
        )
        values = _values(one, other)
        if values is None:
            return result
        result = replace(result, distance=self.tolerance.distance(*values))
        if self.reference is not None and one is not None:
            result = replace(result, nearer=self._nearer(found, one, before, *values))
        return result

    def _nearer(
        self,
        found: Difference,
        one: Made,
        recorded: Outcome,
        before: torch.Tensor,
        after: torch.Tensor,
    ) -> Nearer | None:
        """Compare with the earlier stage's result in the more precise type."""
        true: torch.Tensor | None = None
        if found.previous in (EAGER, CAPTURED):
            true = counterpart(recorded.made, one, self._wide_run().made)
        else:
            part = self._part_of(one)
            graph = None if part is None else part.graph
            if found.previous == POST_GRAD and part is not None:
                graph = part.post_grad
            inputs = recorded.recording.inputs if recorded.recording is not None else {}
            given = inputs.get((one.call, one.part), {})
            true = None if graph is None else wide_values(graph, given).get(one.node)
        return None if true is None else _nearer(before, after, true, found.previous, found.stage)

    def _line(self, one: Made | None, other: Made | None) -> tuple[Place | None, str]:
        for made in (one, other):
            if made is None or made.place is None:
                continue
            if Path(made.place.file).parent != self.session.directory:
                return made.place, made.code
        return None, ""

    def _side(self, made: Made | None, other: Made | None) -> StageOperation | None:
        if made is None:
            return None
        line = made.line
        if made.file and not line:
            text = self.session.path(made.file)
            line = located_line(text, made.node, made.operation)
        name = made.node or made.operation
        values = None
        picked = _values(made, other) if other is not None else None
        tensor = picked[0] if picked else next((v for v in made.values if v is not None), None)
        if tensor is not None:
            values = values_of(name, tensor)
        return StageOperation(made.operation, made.node, made.file, line, values)

    def _in_kernel(
        self, one: Made, other: Made, before: Outcome
    ) -> tuple[Made, Made, tuple[str, ...], str]:
        """Find the operation inside a kernel that differs."""
        part = self._part_of(other)
        holds = self.session.buffers.get(other.file, {})
        groups = [origin.nodes for origin in holds.values() if origin.own == one.node]
        nodes = groups[0] if groups else ()
        if part is None or len(nodes) < 2:
            return one, other, (), ""
        known = {m.node: m for m in before.made if (m.call, m.part) == (one.call, one.part)}
        inputs = before.recording.inputs.get((one.call, one.part), {}) if before.recording else {}
        name = first_in_kernel(part.post_grad, nodes, known, inputs, self.tolerance)
        if name is None or name == one.node:
            return one, other, tuple(n for n in nodes if n != one.node), ""
        inner = known[name]
        result = replace(other, node=name, operation=inner.operation, values=[], place=inner.place)
        note = f"compiling its operations with all results kept; the program keeps only {one.node}"
        return inner, result, tuple(n for n in nodes if n != name), note

    def _part_of(self, made: Made) -> Any:
        for graph in self.stages.graphs:
            for part in graph.parts:
                if made.file and made.file in (part.file, part.post_grad_file, part.program_file):
                    return part
        return None

    # -- Python state --

    def changes(self, outcome: Outcome) -> list[StateChange]:
        """Return the differences that Python code can see between eager and a stage."""
        before = self.stages.state.image()
        changes, _ = changed_state(before, self.eager.state, outcome.state, self.tolerance)
        # Generators are reported with the results and with the operation that draws.
        return [change for change in changes if not change.name.startswith(GENERATORS)]

    def _located(self, changes: list[StateChange]) -> list[StateChange]:
        found = []
        for change in changes:
            by_eager = change.eager != change.before
            runs = (EAGER, CAPTURED) if by_eager else (CAPTURED, EAGER)
            place, code = None, ""
            for stage in runs:
                run = functools.partial(self.stages.call, stage)
                place, code = changing_line(self.stages.state, change.name, run)
                if place is not None:
                    break
            place, code = self._in_program(change.name, place, code)
            found.append(replace(change, place=place, code=code))
        return found

    def _in_program(self, path: str, place: Place | None, code: str) -> tuple[Place | None, str]:
        """Map a line of a dumped file back to the user's line."""
        if place is None or Path(place.file).parent != self.session.directory:
            return place, code
        stored = self.stages.state.storing_line(path)
        if stored is not None:
            return stored, linecache.getline(stored.file, stored.line).strip()
        name = Path(place.file).name
        for frame in self.session.of(Frame):
            if frame.file == name:
                return frame.place, linecache.getline(frame.place.file, frame.place.line).strip()
        return place, code

    def told(self, found: Difference | None, changes: list[StateChange]) -> Difference:
        """Return the difference with a description of what was compared."""
        found = found or Difference()
        if changes and not found.stage:
            first = changes[0]
            found = replace(
                found,
                stage=CAPTURED,
                previous=EAGER,
                operation=STATE,
                direction="forward",
                place=first.place,
                code=first.code,
            )
        notes = [
            f"not put back: {path}: {why}" for path, why in self.stages.state.not_put_back.items()
        ][:_MOST_NOTES]
        if self.stages.no_program:
            notes.append(f"Inductor generated no program: {self.stages.no_program}")
        if not self.graphs:
            notes += [f"not compiled: {left_one(event)}" for event in left_alone(self.session)[:4]]
        if self.stages.draws:
            notes.append(
                "random numbers were drawn like in eager; Inductor's own generator gives "
                "different ones"
            )
        if self.drawn_again:
            notes.append(
                f"{', '.join(self.drawn_again)} draw random numbers again in the backward pass: "
                "the generator ends in a different state, and all results are the same"
            )
        return replace(
            found,
            state=tuple(changes),
            stages=tuple(stage for stage in STAGES if stage in self.run_stages),
            graphs=self.graphs,
            backward=self.eager.backward,
            notes=tuple(notes),
            directory=str(self.session.directory),
            tolerance=worded(self.tolerance),
            within_rounding=tuple(self.rounding),
        )


_ABSENT = object()


def _word(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    if isinstance(value, torch.Tensor):
        return str(values_of("", value)).partition(": ")[2]
    return repr(value)


def _kind(value: torch.Tensor) -> str:
    return f"{_word(value)} ({value.layout}, {value.device})"


def worded(tolerance: Tolerance) -> str:
    """Return a tolerance in words."""
    if tolerance.is_default:
        return "tolerance by type and size"
    rtol = "by type" if tolerance.rtol is None else f"{tolerance.rtol:g}"
    atol = "by size" if tolerance.atol is None else f"{tolerance.atol:g}"
    return f"rtol {rtol}, atol {atol}"


def _values(one: Made | None, other: Made | None) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the results of two operations to compare: the first pair of the same kind."""
    if one is None or other is None:
        return None
    pairs = [
        (a, b)
        for a in one.values
        for b in other.values
        if a is not None and b is not None and a.shape == b.shape and a.dtype == b.dtype
    ]
    return next((pair for pair in pairs if _FULL.part(*pair)), pairs[0] if pairs else None)


def _nearer(
    one: torch.Tensor, other: torch.Tensor, true: torch.Tensor, before: str, after: str
) -> Nearer | None:
    if not one.shape == other.shape == true.shape:
        return None
    first, second = errors(one, other, true)
    return Nearer("float64", first, second, (before, after))
