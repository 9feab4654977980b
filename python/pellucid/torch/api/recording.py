# SPDX-License-Identifier: Apache-2.0
"""Recording of the operations of one run: of a program, a graph, or Inductor's program."""

from __future__ import annotations

import contextlib
import functools
import linecache
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Tuple

import torch
import torch.utils.checkpoint

from pellucid.dump.model.events import Place
from pellucid.dump.model.program_text import Statement, statements_of_text

from ..capture.sources import is_users, ours
from ..taps import staging
from .program_state import NARROW
from .watch import UNINITIALIZED, user_line

_MOST_BYTES = 4 << 30
"""The number of bytes of values to keep per run; later values are not compared."""


@dataclass
class Made:
    """The result of one operation."""

    number: int
    """The position in the run."""
    call: int
    """The number of the graph call, counted from 0; -1 outside graphs."""
    direction: str
    node: str
    """Its name in the graph that runs; empty in the eager program."""
    operation: str
    captured: str
    """The node of Dynamo's graph that it belongs to."""
    operator: str
    """The operator before decomposition, without overload: ``silu``."""
    values: list[torch.Tensor | None]
    """Copies of the results; None for values that are not tensors or were too large to keep."""
    takes: tuple[int, ...] = ()
    """The numbers of the operations that produce its arguments, if the run knows them."""
    memory: tuple[int, ...] = ()
    """The addresses of the results."""
    place: Place | None = None
    code: str = ""
    file: str = ""
    line: int = 0
    """The line of ``file`` that computes it; 0 if not located yet."""
    node_object: Any = field(default=None, repr=False)
    writes: bool = False
    """Whether it mutates its arguments."""
    part: str = ""
    """Which of AOTAutograd's graphs ran it: ``forward``, ``backward`` or ``inference``."""
    draws: bool = False
    """Whether it draws random numbers."""


class Context(NamedTuple):
    """The node that a graph's interpreter is running."""

    call: int
    node: str
    place: Place | None
    code: str
    file: str


class Recording:
    """The operations of one run, in order."""

    def __init__(self, wide: bool = False) -> None:
        self.made: list[Made] = []
        self.context: Context | None = None
        self.inputs: dict[tuple[int, str], dict[str, Any]] = {}
        """The inputs of each graph call, by call and graph, then by name."""
        self._wide = wide
        self._bytes = 0
        self._makers: dict[Identity, int] = {}
        self._writers: dict[int, list[int]] = {}
        self._alive: list[Any] = []
        self._of_sequence: dict[int, tuple[Context | None, Place | None, str]] = {}

    # -- values --

    def keep(self, value: Any) -> list[torch.Tensor | None]:
        """Return copies of the tensors of a result."""
        kept: list[torch.Tensor | None] = []
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(item, torch.Tensor) or item.layout is not torch.strided:
                kept.append(None)
                continue
            self._bytes += item.numel() * item.element_size()
            fits = self._bytes <= _MOST_BYTES and not item.is_meta
            kept.append(item.detach().clone() if fits else None)
        return kept

    def add(self, made: Made) -> None:
        """Add the result of an operation."""
        made.number = len(self.made)
        self.made.append(made)

    # -- below autograd --

    @contextlib.contextmanager
    def operations(self) -> Iterator[None]:
        """Record every operator that runs inside the block."""
        with contextlib.ExitStack() as stack:
            if self._wide:
                stack.enter_context(staging.each_operation(run_wide))
            stack.enter_context(staging.each_operation(self._operation))
            yield

    def _operation(self, operator: Any, args: Any, kwargs: Any) -> Any:
        takes = tuple(
            dict.fromkeys(n for t in _tensors((args, kwargs)) for n in self._makers_of(t))
        )
        result = operator(*args, **kwargs)
        if _is_untold(operator):
            return result
        context, place, code = self.context, None, ""
        sequence = staging.differentiated()
        if sequence is None:
            place, code = (context.place, context.code) if context else calling_line()
            # Operations without gradients do not have or consume a sequence number.
            self._of_sequence.setdefault(staging.sequence_number() - 1, (context, place, code))
        else:
            context, place, code = self._of_sequence.get(sequence, (None, None, ""))
            own = calling_line()  # the program's own backward pass of a custom function
            place, code = (place, code) if own[0] is None else own
        outputs = list(_tensors(result))
        name = str(operator)
        self.add(
            Made(
                number=0,
                call=-1 if context is None else context.call,
                direction="forward" if sequence is None else "backward",
                node="" if context is None or sequence is not None else context.node,
                operation=name,
                captured="" if context is None else context.node,
                operator=plain_name(name),
                values=[] if UNINITIALIZED.search(name) else self.keep(result),
                takes=takes,
                memory=tuple(map(_address, outputs)),
                place=place,
                code=code,
                file="" if context is None or sequence is not None else context.file,
                writes=is_mutable(operator),
                draws=is_random(operator),
            )
        )
        for output in outputs:
            self._makers[_identity(output)] = len(self.made) - 1
            if self.made[-1].writes:
                self._writers.setdefault(_address(output), []).append(len(self.made) - 1)
            self._alive.append(output.detach() if self._bytes < _MOST_BYTES else None)
        return result

    def _makers_of(self, tensor: torch.Tensor) -> Iterator[int]:
        """Yield the operations that produced a value, or wrote to its memory."""
        maker = self._makers.get(_identity(tensor))
        if maker is not None:
            yield maker
        yield from self._writers.get(_address(tensor), ())


class GraphRun(torch.fx.Interpreter):
    """Runs one graph node by node."""

    def __init__(
        self, graph: Any, recording: Recording | None, call: int, file: str, inner: bool = False
    ) -> None:
        super().__init__(graph)
        self._recording, self._call, self._file, self._inner = recording, call, file, inner

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if str(target) == "tag_activation_checkpoint":
            # The operator leaves it to later stages to draw the same numbers in the recomputation,
            # so call the checkpoint function that the program called.
            return torch.utils.checkpoint.checkpoint(*args, use_reentrant=False)
        if str(target) == "invoke_subgraph":
            # Outside a compile, the operator has no backward pass, so call the subgraph.
            subgraph, _, *operands = args
            return subgraph(*operands)
        return super().call_function(target, args, kwargs)

    def run_node(self, n: Any) -> Any:
        recording = self._recording
        if recording is None or n.op == "output":
            return super().run_node(n)
        if self._inner:
            place, code = user_line(n)
            recording.context = Context(self._call, n.name, place, code, self._file)
            try:
                return super().run_node(n)
            finally:
                recording.context = None
        return super().run_node(n)


class StageRun(GraphRun):
    """Runs one of AOTAutograd's or Inductor's graphs, and records the result of each node."""

    def __init__(
        self,
        graph: Any,
        recording: Recording | None,
        call: int,
        direction: str,
        file: str,
        captured_of: Callable[[Any], str],
    ) -> None:
        super().__init__(graph, recording, call, file)
        self._direction, self._captured_of = direction, captured_of

    def run_node(self, n: Any) -> Any:
        recording = self._recording
        if recording is None or n.op == "output":
            return super().run_node(n)
        result = super().run_node(n)
        if n.op == "placeholder":
            kept = recording.keep(result)[0] if isinstance(result, torch.Tensor) else result
            recording.inputs.setdefault((self._call, self._direction), {})[n.name] = kept
            return result
        recording.add(of_node(n, self._direction, self._captured_of(n), self._call, self._file))
        made = recording.made[-1]
        if not UNINITIALIZED.search(made.operation):
            made.values = recording.keep(result)
        made.memory = tuple(map(_address, _tensors(result)))
        return result


def of_node(n: Any, direction: str, captured: str, call: int, file: str) -> Made:
    """Return the record of a node without its results."""
    origin = staging.origin_of(n)
    place, code = user_line(n)
    # A backward graph also contains recomputed operations, which belong to the forward pass.
    is_again = direction == "backward" and origin.is_forward
    return Made(
        number=0,
        call=call,
        direction="backward" if direction == "backward" and not is_again else "forward",
        node=n.name,
        operation=named(n),
        captured=captured,
        operator=plain_name(origin.operator or str(n.target)),
        values=[],
        place=place,
        code=code,
        file=file,
        node_object=n,
        writes=is_mutable(n.target),
        part=direction,
        draws=is_random(n.target),
    )


# -- Inductor's program ----------------------------------------------------------------------------


class ProgramRun:
    """Observes the buffers during one call of an Inductor program."""

    def __init__(self, recording: Recording, describe: Callable[[str, int], Made | None]) -> None:
        self._recording, self._describe = recording, describe
        self._seen: set[str] = set()

    def run(self, program: Callable[[list[Any]], Any], args: list[Any]) -> Any:
        """Call the program."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            return program(args)
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if code.co_name != "call" or "AsyncCompile" not in frame.f_globals:
            return None
        statements = _statements(code)
        first = frozenset(name for name in frame.f_code.co_varnames if name != "args")
        pending: list[Statement] = []

        def line(frame: FrameType, event: str, _: Any) -> Any:
            if event not in ("line", "return"):
                return line
            now = None if event == "return" else statements.get(frame.f_lineno)
            if pending and pending[-1] is not now:
                self._done(pending.pop(), frame.f_locals, first)
            if now is not None and not pending:
                pending.append(now)
            return line

        return line

    def _done(self, statement: Statement, values: Mapping[str, Any], names: frozenset[str]) -> None:
        """Record the buffers that a finished statement was the first to fill."""
        for name in statement.fills:
            value = values.get(name)
            if name in self._seen or name not in names or not isinstance(value, torch.Tensor):
                continue
            self._seen.add(name)
            made = self._describe(name, statement.line)
            if made is not None:
                self._recording.add(made)
                made.values = self._recording.keep(value)
                made.memory = (_address(value),)


@functools.lru_cache(maxsize=None)
def _statements(code: CodeType) -> dict[int, Statement]:
    """Return the statements of a program's file, by each of their lines."""
    with contextlib.suppress(OSError):
        text = Path(code.co_filename).read_text(encoding="utf-8")
        return {
            line: statement
            for statement in statements_of_text(text)
            for line in range(statement.line, statement.end + 1)
        }
    return {}


# -- in double precision ---------------------------------------------------------------------------


def wide_values(graph: Any, inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Run a graph of operators in float64, and return the result of each node.

    Args:
        graph: the graph module.
        inputs: the inputs by name.
    """
    found: dict[str, torch.Tensor] = {}

    class Run(torch.fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            result = super().run_node(n)
            first = next(_tensors(result), None)
            if first is not None:
                found[n.name] = first.detach().clone()
            return result

    names = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
    values = [_widened(inputs.get(name)) for name in names]
    values = [v.clone() if isinstance(v, torch.Tensor) else v for v in values]
    with torch.no_grad(), staging.each_operation(run_wide), contextlib.suppress(Exception):
        Run(graph).run(*values)  # if a node fails, the results before it are still known
    return found


def run_wide(operator: Any, args: Any, kwargs: Any) -> Any:
    """Run an operator in float64, whatever its argument types.

    Random numbers are drawn as in the original type, and mutated arguments keep their type.
    """
    if is_random(operator):
        return (
            _widened(operator(*args, **kwargs))
            if not is_mutable(operator)
            else operator(*args, **kwargs)
        )
    written = _written(operator, args, kwargs)
    try:
        return operator(*_map(args, written), **_map(kwargs, written))
    except Exception:  # no float64 kernel
        return _widened(operator(*args, **kwargs))


def is_random(operator: Any) -> bool:
    """Return true if an operator draws random numbers."""
    return torch.Tag.nondeterministic_seeded in getattr(operator, "tags", ())


def _written(operator: Any, args: Any, kwargs: Any) -> set[int]:
    """Return the ids of the arguments that an operator mutates."""
    schema = getattr(operator, "_schema", None)
    found = set()
    for at, argument in enumerate(schema.arguments if schema is not None else ()):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[at] if at < len(args) else kwargs.get(argument.name)
            found |= {id(tensor) for tensor in _tensors(value)}
    return found


def _map(value: Any, keep: set[int]) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype in NARROW and id(value) not in keep else value
    if isinstance(value, torch.dtype):
        return torch.float64 if value in NARROW else value
    if isinstance(value, (list, tuple)):
        return type(value)(_map(item, keep) for item in value)
    if isinstance(value, dict):
        return {key: _map(item, keep) for key, item in value.items()}
    return value


def _widened(value: Any) -> Any:
    return _map(value, set())


# -- values ----------------------------------------------------------------------------------------


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))


def _address(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return id(tensor)


Identity = Tuple[int, int, Tuple[int, ...], Tuple[int, ...]]


def _identity(tensor: torch.Tensor) -> Identity:
    """Return what distinguishes a view from other views of the same memory."""
    strides = tuple(tensor.stride()) if tensor.layout is torch.strided else ()
    return _address(tensor), int(tensor.storage_offset()), tuple(tensor.shape), strides


def plain_name(operator: str) -> str:
    """Return the name of an operator without namespace, overload and the in-place underscore.

    >>> plain_name("aten.add_.Tensor"), plain_name("<built-in function getitem>")
    ('add', 'getitem')
    """
    if operator.startswith("<"):
        found = re.search(r"function (\w+)", operator)
        return found[1] if found else operator
    parts = operator.split(".")
    name = parts[1] if len(parts) > 1 else parts[0]
    return name.rstrip("_") or name


def named(node: Any) -> str:
    """Return what a node calls, in readable form: ``aten.silu.default``, ``F.silu``."""
    target = node.target
    if node.op != "call_function":
        return str(target)
    if hasattr(target, "_schema"):
        return str(target)
    module, name = getattr(target, "__module__", None), getattr(target, "__name__", str(target))
    return str(name) if module in (None, "_operator", "builtins") else f"{module}.{name}"


_UNTOLD = frozenset(["detach", "alias", "lift_fresh", "_local_scalar_dense", "is_same_size"])


def _is_untold(operator: Any) -> bool:
    """Return true for autograd bookkeeping, which differs between stages."""
    return plain_name(str(operator)) in _UNTOLD


def is_mutable(target: Any) -> bool:
    """Return true if an operator mutates its arguments."""
    schema = getattr(target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def calling_line() -> tuple[Place | None, str]:
    """Return the innermost user line on the stack, with its text."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and ours(frame.f_code.co_filename):
        frame = frame.f_back
    while frame is not None and not ours(frame.f_code.co_filename):
        code = frame.f_code
        if code.co_name == "_engine_run_backward":
            break  # the caller of backward() does not compute the gradients
        if _is_users(code.co_filename):
            text = linecache.getline(code.co_filename, frame.f_lineno).strip()
            return Place(code.co_filename, frame.f_lineno, code.co_name), text
        frame = frame.f_back
    return None, ""


_is_users = functools.lru_cache(maxsize=None)(is_users)
