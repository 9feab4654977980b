# SPDX-License-Identifier: Apache-2.0
"""Running compiled graphs operation by operation to find those that produce NaN or Inf.

The graphs are AOTAutograd's, so the backward pass is covered too.  An operation *makes* NaN if no
argument contains one, and Inf if no argument contains NaN or Inf.  Filling a mask with ``-inf`` is
not reported, but a NaN computed from it is.  Each non-finite value carries the numbers of the
findings that it derives from, also between graphs, so that a value that was masked out later can be
distinguished from one that reached a result.
"""

from __future__ import annotations

import math
import re
import threading
from dataclasses import replace
from typing import Any, Callable, FrozenSet, Iterable, Iterator, Mapping, NamedTuple, Sequence

import torch

from pellucid.dump.model.events import CompileKey, Graph, NonFinite, Place, Values
from pellucid.dump.model.names import as_written
from pellucid.dump.store.session import Session

from ..capture.connection import CAPTURE
from ..taps import graph_hooks, hooks
from ..taps.shapes import LINE_KEY, SHAPES

_MOST_FINDINGS = 100
_NAN, _INF = 1, 2
_USER_LINE = re.compile(r'File "([^"]+)", line (\d+), in ([^\n]*)\n?\s*([^\n]*)')
_RUN_GRAPHS = frozenset(["cond", "while_loop", "map_impl"])
UNINITIALIZED = re.compile(r"(?:^|\.)(?:new_)?empty(?:_|\.|$)")
"""The operations that return uninitialized memory."""

Origins = FrozenSet[int]
"""The numbers of the findings that a value derives from."""
_NOWHERE: Origins = frozenset()


class Input(NamedTuple):
    """The description of a value before it enters a graph."""

    name: str
    """The program's name for it."""
    node: str
    """The value's name in the dumped graph."""
    place: Place | None = None
    """The line where the program first uses it, if torch records it."""
    code: str = ""


class Watch:
    """The findings of one run of a program, over all its graphs; provides a backend."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ran: set[CompileKey] = set()
        self.backwards = 0
        self._lock = threading.RLock()
        self._findings: list[NonFinite] = []
        self._reached: set[int] = set()
        # Memory is reused: the origins of a freed tensor do not apply to a new one.
        self._origins: dict[int, tuple[Origins, Callable[[], bool]]] = {}
        self._left: dict[CompileKey, Origins] = {}

    @property
    def findings(self) -> list[NonFinite]:
        """Return all findings, in the order in which they occurred."""
        with self._lock:
            return [replace(f, reached=n in self._reached) for n, f in enumerate(self._findings)]

    def backend(self, graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        """Compile one of Dynamo's graphs; has the signature of a ``torch.compile`` backend."""
        aot = graph_hooks.aot_backend(self._compile_stage)
        if aot is None:
            return graph.forward  # type: ignore[no-any-return]
        key = self.session.key(hooks.current_compile_id())
        file = self._file_of(key, "captured")
        _check(graph)
        given = [_given(node) for node in graph.graph.nodes if node.op == "placeholder"]
        held = list(_held(graph))
        compiled = aot(graph, inputs)

        def run(*args: Any) -> Any:
            self.ran.add(key)
            for source, value in (*zip(given, args), *held):
                state = _state(value)
                if state:
                    self.entered(key, source, value, state, file)
            results = compiled(*args)
            for value in results:
                if _state(value):
                    # An output that torch copies on return is not one of the graph's own outputs.
                    known = self.origins(value)
                    self.reach(self._left.get(key, _NOWHERE) if known is None else known)
            return results

        return hooks.invisible(run)

    def _compile_stage(self, stage: str, graph: Any) -> Callable[[list[Any]], Any]:
        key = self.session.key(hooks.current_compile_id())
        # Some releases do not emit every graph.
        file = self._file_of(key, stage) or CAPTURE.add_graph(stage, graph) or ""

        def run(args: list[Any]) -> Any:
            values = list(args)
            args.clear()
            self.backwards += stage == "backward"
            return _Run(self, graph, key, stage, file).run(*values)

        return run

    def _file_of(self, key: CompileKey, stage: str) -> str:
        files = [g.file for g in self.session.of(Graph) if g.key == key and g.stage == stage]
        return files[-1] if files else ""

    # -- where a value came from --

    def entered(self, key: CompileKey, given: Input, value: Any, state: int, file: str) -> Origins:
        """Return the origins of a value that enters a graph; if no graph produced it, itself.

        Such a value is an argument, a parameter, or the result of code between the graphs or of an
        uncompiled backward pass.
        """
        known = self.origins(value)
        if known is None:
            what = "NaN" if state & _NAN else "Inf"
            known = self.add(
                NonFinite(
                    key=key,
                    stage="input",
                    what=what,
                    operation=given.name,
                    node=given.node,
                    output=_first(given.name, value),
                    place=given.place,
                    code=given.code,
                    file=file,
                )
            )
            self.origin(value, known)
        return known

    def add(self, finding: NonFinite) -> Origins:
        """Add a finding; return the origins of all values derived from it."""
        with self._lock:
            if len(self._findings) >= _MOST_FINDINGS:
                return _NOWHERE
            self._findings.append(finding)
            return frozenset([len(self._findings) - 1])

    def reach(self, origins: Iterable[int]) -> None:
        """Record that a value with these origins has left the graphs."""
        with self._lock:
            self._reached.update(origins)

    def origin(self, value: Any, origins: Origins) -> None:
        """Record the origins of a value that leaves a graph."""
        self._origins[_address(value)] = origins, graph_hooks.memory_of(value)

    def origins(self, value: Any) -> Origins | None:
        """Return the origins of a value that a graph produced or received; None if unknown."""
        origins, is_held = self._origins.get(_address(value), (None, bool))
        return origins if is_held() else None

    def leave(self, key: CompileKey, origins: Origins) -> None:
        """Record the origins of all non-finite values that leave a graph's forward pass."""
        self._left[key] = origins


def _check(graph: Any) -> None:
    """Report the metadata that this torch does not record in Dynamo's graphs."""
    SHAPES.has("schema of an operator")
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    calls = [node for node in graph.graph.nodes if node.op.startswith("call_")]
    if inputs and not any(map(graph_hooks.source_of, inputs)):
        SHAPES.missed("source of a graph's input")
    if calls and not any(LINE_KEY in node.meta for node in calls):
        SHAPES.missed("line of a graph's operation")


def _given(placeholder: Any) -> Input:
    """Return the description of an input of Dynamo's graph."""
    source = graph_hooks.source_of(placeholder) or str(placeholder.target)
    return Input(as_written(source), placeholder.name, *user_line(placeholder))


def _held(graph: Any) -> Iterator[tuple[Input, Any]]:
    """Yield the values that Dynamo's graph holds as attributes, with their descriptions."""
    readers = {str(n.target): n for n in graph.graph.nodes if n.op in ("get_attr", "call_module")}
    for name, source, value in graph_hooks.held_by(graph):
        reader = readers.get(name) or readers.get(name.rpartition(".")[0])
        if reader is not None:
            yield Input(as_written(source), reader.name, *user_line(reader)), value


class _Run(torch.fx.Interpreter):
    """One run of a graph, or of a nested graph (``given``)."""

    def __init__(
        self,
        watch: Watch,
        graph: Any,
        key: CompileKey,
        stage: str,
        file: str,
        given: Origins | None = None,
    ) -> None:
        super().__init__(graph)
        self._given = given
        self.left = _NOWHERE
        self._watch, self._key, self._stage, self._file = watch, key, stage, file
        self._states: dict[Any, int] = {}
        self._from: dict[Any, Origins] = {}
        self._node: Any = None

    def run_node(self, n: Any) -> Any:
        if n.op == "output":
            return self._output(n, super().run_node(n))
        self._node = n
        # Arguments are described before the operation, which may mutate them.
        result = super().run_node(n)
        state = _state(result)
        if state:
            self._states[n] = state
            if n.op == "placeholder" and self._given is not None:
                self._from[n] = self._given
            elif n.op in ("placeholder", "get_attr"):
                given = Input(n.name, n.name)
                self._from[n] = self._watch.entered(self._key, given, result, state, self._file)
        return result

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        node = self._node
        # A mutated argument is described before the operation, while its old value is visible.
        before = None
        if not any(self._states.get(n) for n in node.all_input_nodes) and _writes(target):
            before = _describe(node, self.env)
        inside = _NOWHERE
        if str(target) in _RUN_GRAPHS:
            result, inside = self._call_with_graphs(target, args, kwargs)
        else:
            result = super().call_function(target, args, kwargs)
        state = _state(result)
        if state:
            self._from[node] = inside or self._judge(node, target, state, result, before)
        return result

    def _call_with_graphs(self, target: Any, args: Any, kwargs: Any) -> tuple[Any, Origins]:
        """Call an operation that runs nested graphs, and watch these too."""
        given = _NOWHERE.union(*(self._from.get(n, _NOWHERE) for n in self._node.all_input_nodes))
        runs: list[_Run] = []

        def watched(graph: Any) -> Any:
            if not isinstance(graph, torch.fx.GraphModule):
                return graph

            def run(*values: Any) -> Any:
                runs.append(_Run(self._watch, graph, self._key, self._stage, self._file, given))
                return runs[-1].run(*values)

            return hooks.invisible(run)

        try:
            result = super().call_function(target, tuple(map(watched, args)), kwargs)
        except Exception:
            if runs:
                raise
            # this torch requires graph modules
            result = super().call_function(target, args, kwargs)
        return result, _NOWHERE.union(*(run.left for run in runs))

    def _judge(
        self,
        node: Any,
        target: Any,
        state: int,
        result: Any,
        before: tuple[Values, ...] | None,
    ) -> Origins:
        given, origins = _literals(node), _NOWHERE
        for source in node.all_input_nodes:
            given |= self._states.get(source, 0)
            origins |= self._from.get(source, _NOWHERE)
        makes_nan = state & _NAN and not given & _NAN
        makes_inf = state & _INF and not given
        name = str(target)
        if not (makes_nan or makes_inf) or UNINITIALIZED.search(name):
            return origins
        place, code = user_line(node)
        finding = NonFinite(
            key=self._key,
            stage=self._stage,
            what="NaN" if makes_nan else "Inf",
            operation=name,
            node=node.name,
            output=_first(node.name, result),
            inputs=_describe(node, self.env) if before is None else before,
            place=place,
            code=code,
            file=self._file,
        )
        # A value derived from an Inf is a separate finding, and inherits the Inf's origins.
        return origins | self._watch.add(finding)

    def _output(self, node: Any, results: Any) -> Any:
        returned = node.args[0]
        several = isinstance(returned, (list, tuple))
        left = _NOWHERE
        for source, value in zip(*((returned, results) if several else ([returned], [results]))):
            if isinstance(source, torch.fx.Node) and self._states.get(source):
                origins = self._from.get(source, _NOWHERE)
                left |= origins
                if self._given is not None:
                    continue
                self._watch.origin(value, origins)
                if self._stage == "backward":
                    self._watch.reach(origins)
        self.left = left
        if self._stage != "backward" and self._given is None:
            self._watch.leave(self._key, left)
        return results


# -- values ----------------------------------------------------------------------------------------


def _state(value: Any) -> int:
    """Return whether a value contains NaN, Inf, both or neither (0)."""
    if isinstance(value, (list, tuple)):
        state = 0
        for item in value:
            state |= _state(item)
        return state
    if isinstance(value, float):
        return _NAN if math.isnan(value) else _INF if math.isinf(value) else 0
    if not isinstance(value, torch.Tensor) or not _has_numbers(value):
        return 0
    value = value.detach()
    if bool(torch.isfinite(value).all()):
        return 0
    return (_NAN if bool(torch.isnan(value).any()) else 0) | (
        _INF if bool(torch.isinf(value).any()) else 0
    )


def _has_numbers(value: torch.Tensor) -> bool:
    floating = value.is_floating_point() or value.is_complex()
    return floating and value.layout is torch.strided and not value.is_meta and value.numel() > 0


def _literals(node: Any) -> int:
    """Return the state of the literal numbers in a call: ``full([2], -inf)``."""
    state = 0
    pending = [*node.args, *node.kwargs.values()]
    while pending:
        item = pending.pop()
        if isinstance(item, (list, tuple)):
            pending.extend(item)
        elif isinstance(item, float):
            state |= _state(item)
    return state


def _address(value: Any) -> int:
    """Return a tensor's memory address, which identifies it across wrappers and graphs."""
    if not isinstance(value, torch.Tensor):
        return id(value)
    try:
        return int(value.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return id(value)


def values_of(name: str, value: torch.Tensor) -> Values:
    """Describe the elements of a tensor."""
    tensor = value.detach()
    dtype, shape = str(tensor.dtype).rpartition(".")[2], tuple(map(int, tensor.shape))
    if not _has_numbers(tensor):
        none = not tensor.numel() or tensor.layout is not torch.strided or tensor.is_meta
        if none or tensor.dtype is torch.bool:
            return Values(name, dtype, shape, 0, 0, None, None, None)
        whole = tensor.double()
        return Values(name, dtype, shape, 0, 0, *_range(whole))
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    wide = tensor.double()
    finite = wide[torch.isfinite(wide)]
    return Values(
        name,
        dtype,
        shape,
        int(torch.isnan(wide).sum()),
        int(torch.isinf(wide).sum()),
        *(_range(finite) if finite.numel() else (None, None, None)),
    )


def _range(values: torch.Tensor) -> tuple[float, float, float]:
    return float(values.min()), float(values.max()), float(values.mean())


def _first(name: str, result: Any) -> Values:
    """Describe the first non-finite part of a result."""
    if isinstance(result, torch.Tensor):
        return values_of(name, result)
    if isinstance(result, (list, tuple)):
        for number, item in enumerate(result):
            if _state(item):
                return _first(f"{name}[{number}]", item)
    return Values(name, type(result).__name__, (), 0, 0, None, None, None)


def _describe(node: Any, env: Mapping[Any, Any]) -> tuple[Values, ...]:
    described = []
    for source in node.all_input_nodes:
        value = env.get(source)
        if isinstance(value, torch.Tensor):
            described.append(values_of(source.name, value))
    return tuple(described)


def _writes(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def user_line(node: Any) -> tuple[Place | None, str]:
    """Return the user's line that a node computes, with its text.

    A node of the backward pass has the line of the operation that it differentiates.
    """
    found = _USER_LINE.findall(str(node.meta.get(LINE_KEY) or ""))
    if not found:
        return None, ""
    file, line, function, code = found[-1]
    return Place(file, int(line), function.strip()), code.strip()
