# SPDX-License-Identifier: Apache-2.0
"""Running a function through one stage of its compile, from Dynamo's graphs to the program."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch

from pellucid.dump.model.differences import OWN
from pellucid.dump.model.events import CompileKey, Graph
from pellucid.dump.store.session import Session

from ..capture.connection import CAPTURE
from ..taps import graph_hooks, hooks, staging
from .cuts import Cut
from .nan import _leaves
from .program_state import ProgramState
from .recording import GraphRun, Made, ProgramRun, Recording, StageRun, of_node

STAGES = ("eager", "captured", "AOT", "post-grad", "program", OWN)
"""The stages, each derived from the one before; the last is the program's own compiled code."""
EAGER, CAPTURED, AOT, POST_GRAD, PROGRAM = STAGES[:5]


@dataclass
class Compiled:
    """One of AOTAutograd's graphs, and what was generated from it."""

    key: CompileKey
    direction: str
    graph: Any
    file: str
    post_grad: Any = None
    post_grad_file: str = ""
    program: Callable[[list[Any]], Any] | None = None
    program_file: str = ""


@dataclass
class Dynamo:
    """One of Dynamo's graphs."""

    key: CompileKey
    graph: Any
    file: str
    of_source: dict[str, str]
    """The name of each node by Dynamo's name of its operation."""
    of_sequence: dict[int, str] = field(default_factory=dict)
    """The name of each node by its autograd sequence number."""
    parts: list[Compiled] = field(default_factory=list)


@dataclass
class Outcome:
    """The outcome of one run."""

    stage: str
    results: dict[str, Any]
    """Results and gradients, by name."""
    state: dict[str, Any]
    """The reachable state after it, as returned by :meth:`.ProgramState.image`."""
    error: BaseException | None = None
    recording: Recording | None = None
    """The recording, if the run was recorded."""
    backward: bool = False
    draws: bool = False
    """Whether it drew torch's random numbers."""

    @property
    def made(self) -> list[Made]:
        """Return the recorded operations of the run, in order."""
        return self.recording.made if self.recording is not None else []


class Stages:
    """The compile stages of a function, and methods to run it through each of them."""

    def __init__(
        self,
        session: Session,
        function: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        state: ProgramState | None = None,
        own: Callable[..., Any] | None = None,
    ) -> None:
        self.session = session
        self.function, self.args, self.kwargs = function, args, kwargs
        self.state = ProgramState(function, args, kwargs) if state is None else state
        self.own = own
        """The program's own compiled function, if one of its calls is examined."""
        self.graphs: list[Dynamo] = []
        self.no_program = ""
        """Why there is no program; empty if there is one."""
        self.draws = False
        """Whether a graph draws random numbers."""
        self._stage = CAPTURED
        self._recording: Recording | None = None
        self._calls = 0
        self._open: dict[CompileKey, list[int]] = {}
        self._with_programs = False

    # -- compiling --

    def backend(self, graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        """Compile one of Dynamo's graphs; has the signature of a ``torch.compile`` backend."""
        key = self.session.key(hooks.current_compile_id())
        nodes = list(graph.graph.nodes)
        sources = {staging.origin_of(n).source: n.name for n in reversed(nodes)}
        shown = copied(graph)
        made = Dynamo(key, shown, self._file(key, "captured"), sources)
        self.graphs.append(made)
        aot = staging.inductor(lambda *given: self._compile(made, *given))
        compiled = graph.forward if aot is None else aot(graph, inputs)

        def run(*args: Any) -> Any:
            call, self._calls = self._calls, self._calls + 1
            if self._stage == CAPTURED:
                inner = GraphRun(shown, self._recording, call, made.file, inner=True)
                return inner.run(*args)
            self._open.setdefault(key, []).append(call)
            return compiled(*args)

        return hooks.invisible(run)

    def _compile(
        self, dynamo: Dynamo, direction: str, graph: Any, make: staging.MakeProgram
    ) -> Callable[[list[Any]], Any]:
        file = self._file_with(graph, dynamo.key, direction)
        part = Compiled(dynamo.key, direction, copied(graph), file)
        dynamo.parts.append(part)
        for node in part.graph.graph.nodes:
            origin = staging.origin_of(node)
            if origin.captured and origin.sequence is not None:
                dynamo.of_sequence.setdefault(origin.sequence, origin.captured)
            tags = getattr(node.target, "tags", ())
            self.draws |= torch.Tag.nondeterministic_seeded in tags
        if self._with_programs:
            self._make_program(part, graph, make)

        def run(args: list[Any]) -> Any:
            values = list(args)
            args.clear()
            return self._run_part(dynamo, part, values)

        return run

    def _make_program(self, part: Compiled, graph: Any, make: staging.MakeProgram) -> None:
        before = len(self.session.of(Graph))
        try:
            part.program = make()
        except Exception as error:
            self.no_program = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            return
        part.post_grad = graph
        for event in self.session.of(Graph)[before:]:
            if event.stage.startswith("after_post_grad"):
                part.post_grad_file = event.file
            elif event.is_program:
                part.program_file = event.file

    def _file_with(self, graph: Any, key: CompileKey, direction: str) -> str:
        """Return the dumped file with the nodes of one of AOTAutograd's graphs.

        Inductor may run passes on the graph after torch has emitted it.
        """
        wanted = {n.name for n in graph.graph.nodes if n.op == "call_function"}
        for stage in (direction, "after_joint_passes"):
            file = self._file(key, stage)
            if file and wanted <= {node.name for node in self.session.nodes.get(file, ())}:
                return file
        return CAPTURE.add_graph(f"{direction}_after_joint_passes", graph) or ""

    def _file(self, key: CompileKey, stage: str) -> str:
        files = [g.file for g in self.session.of(Graph) if g.key == key and g.stage == stage]
        return files[-1] if files else ""

    # -- running --

    def _run_part(self, dynamo: Dynamo, part: Compiled, values: list[Any]) -> Any:
        pending = self._open.get(part.key) or [self._calls - 1]
        call = pending.pop() if part.direction == "backward" else pending[-1]
        captured = _Captured(dynamo)
        recording, direction = self._recording, part.direction
        if self._stage == AOT or part.program is None:
            inner = StageRun(part.graph, recording, call, direction, part.file, captured)
            return inner.run(*values)
        if self._stage == POST_GRAD:
            inner = StageRun(
                part.post_grad, recording, call, direction, part.post_grad_file, captured
            )
            return inner.run(*values)
        if recording is None:
            return part.program(values)
        return self._run_program(part, recording, call, captured, values)

    def _run_program(
        self, part: Compiled, recording: Recording, call: int, captured: Any, values: list[Any]
    ) -> Any:
        nodes = {node.name: node for node in part.post_grad.graph.nodes}
        holds = self.session.buffers.get(part.program_file, {})

        def describe(buffer: str, line: int) -> Made | None:
            node = nodes.get(holds[buffer].own) if buffer in holds else None
            if node is None:
                return None
            made = of_node(node, part.direction, captured(node), call, part.program_file)
            made.line = line
            return made

        assert part.program is not None
        results = ProgramRun(recording, describe).run(part.program, values)
        told = {m.node for m in recording.made if m.call == call and m.file == part.program_file}
        output = next(node for node in nodes.values() if node.op == "output")
        for node, value in zip(output.args[0], results):
            if isinstance(node, torch.fx.Node) and node.name not in told and _is_made(node):
                made = of_node(node, part.direction, captured(node), call, part.program_file)
                made.values = recording.keep(value)
                recording.add(made)
        return results

    def run(self, stage: str, recording: Recording | None = None, wide: bool = False) -> Outcome:
        """Run the function through one stage, from the saved state; optionally in float64."""
        self.state.restore()
        self._stage, self._recording, self._calls = stage, recording, 0
        self._open.clear()
        outcome = Outcome(stage, {}, {}, recording=recording)
        below = stage in (EAGER, CAPTURED)
        try:
            with contextlib.ExitStack() as inside:
                if wide:
                    inside.enter_context(self.state.widened())
                if recording is not None and below:
                    inside.enter_context(recording.operations())
                cut = None if self.own is None else Cut(self.args, self.kwargs)
                result = self.call(stage, cut)
                outcome.results.update(named_results(result))
                outcome.results.update(self._gradients(result, outcome, cut))
                if cut is not None:
                    cut.write_back()
                outcome.draws = self.state.draws
                outcome.state = self.state.image()
        except Exception as error:
            outcome.error = error
        finally:
            self.state.restore()
            self._recording = None
        return outcome

    def call(self, stage: str, cut: Cut | None = None) -> Any:
        """Call the function through one stage, without restoring the state."""
        args, kwargs = (self.args, self.kwargs) if cut is None else (cut.args, cut.kwargs)
        if stage == EAGER:
            with staging.all_eager():
                return graph_hooks.uncompiled(self.function)(*args, **kwargs)
        if stage == OWN and self.own is not None:
            return self.own(*args, **kwargs)
        return self._compiled(*args, **kwargs)

    def _gradients(self, result: Any, outcome: Outcome, cut: Cut | None) -> dict[str, torch.Tensor]:
        """Return the gradients of a result, unless the program has computed some itself.

        The gradients are those of a weighted sum of everything differentiable, with a distinct
        weight for each element.  The autograd graph of an argument that the caller computed stays
        usable.
        """
        roots = differentiable(result)
        found: dict[str, torch.Tensor] = {}
        if not roots:
            return found
        outcome.backward = True
        names = {id(kept.tensor): kept.path for kept in self.state.tensors}
        if cut is not None:
            names.update((id(leaf), f"argument {at}") for at, leaf in enumerate(cut.leaves))
        keeps = self.state.has_graph if cut is None else bool(cut.others(self.state.tensors))
        leaves = _leaves(roots)
        before = [leaf.grad for leaf in leaves]
        try:
            for leaf in leaves:
                leaf.grad = None
            weights = [_weights(root) for root in roots]
            torch.autograd.backward(roots, weights, retain_graph=keeps)
            for at, leaf in enumerate(leaves):
                if leaf.grad is not None:
                    name = names.get(id(leaf), f"input {at}")
                    found[f"gradient of {name}"] = leaf.grad.detach().clone()
        finally:
            for leaf, gradient in zip(leaves, before):
                leaf.grad = gradient
        return found

    @contextlib.contextmanager
    def compiling(self, programs: bool) -> Iterator[None]:
        """Recompile whatever runs inside the block; with ``programs``, also through Inductor."""
        self._with_programs, self.graphs = programs, []
        options = staging.options_of(self.function)
        forget = graph_hooks.every_compile_by(self.backend)
        with staging.comparable(options, self.state.has_graph), forget as forced:
            own = graph_hooks.uncompiled(self.function)
            compiled = forced and own is not self.function
            self._compiled = self.function if compiled else torch.compile(own, backend=self.backend)
            yield


class _Captured:
    """Maps a node of a later graph to its node in Dynamo's graph."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo

    def __call__(self, node: Any) -> str:
        origin = staging.origin_of(node)
        return (
            origin.captured
            or self._dynamo.of_source.get(origin.source, "")
            or self._dynamo.of_sequence.get(origin.sequence or -1, "")
        )


def copied(graph: Any) -> Any:
    """Return a copy of a graph module that does not change when the original does."""
    nodes = copy.deepcopy(graph.graph)
    for old, new in zip(graph.graph.nodes, nodes.nodes):
        new.meta.update({k: v for k, v in old.meta.items() if k not in new.meta})
    return torch.fx.GraphModule(graph, nodes)


def _is_made(node: Any) -> bool:
    return node.op not in ("placeholder", "get_attr")


def _leaves_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values inside the containers of a result, with their paths."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves_of(item, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from _leaves_of(item, f"{path}[{at}]")
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _leaves_of(getattr(value, name, None), f"{path}.{name}")
    else:
        yield path, value


def differentiable(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result from which a backward pass can start."""
    roots = [value for _, value in _leaves_of(result) if isinstance(value, torch.Tensor)]
    return [root for root in roots if root.requires_grad and root.grad_fn is not None]


def named_results(result: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of the values that a call returned, by path."""
    for path, value in _leaves_of(result):
        if isinstance(value, torch.Tensor):
            yield f"result{path}", value.detach().clone()
        elif isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
            yield f"result{path}", value


def _weights(root: torch.Tensor) -> torch.Tensor:
    """Return deterministic weights around 1 without drawing from a generator."""
    count = torch.arange(root.numel(), dtype=torch.float64, device="cpu").reshape(root.shape)
    weights = 1.0 + 0.5 * torch.sin(count * 1.7 + 0.3)
    return weights.to(device=root.device, dtype=root.dtype)
