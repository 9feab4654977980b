# SPDX-License-Identifier: Apache-2.0
"""A compile split into stages that can run separately.

Inductor's backend takes a function that generates a program from a graph.  Ours stores the graph
that AOTAutograd passes, and generates the program on request.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, List, Mapping, NamedTuple, Protocol

from .hooks import PROBE, invisible

FROM_KEY, OPERATOR_KEY, SEQUENCE_KEY = "from_node", "original_aten", "seq_nr"
PASS_KEY, OF_FORWARD = "partitioner_tag", "is_forward"
SOURCE_KEYS = ("source_fn_stack", "fwd_source_fn_stack")
"""The keys of a node's ``meta`` that record its origin; without them, less is matched."""

_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Inductor's own generator draws different numbers, so results could not be compared.
    "inductor_patch": {
        "fallback_random": True,
        "fx_graph_cache": False,
        "fx_graph_remote_cache": False,
        "triton.cudagraphs": False,
    },
    "functorch_patch": {"enable_autograd_cache": False, "enable_remote_autograd_cache": False},
}


class MakeProgram(Protocol):
    """Generates the program of a graph; this changes the graph to the one that was lowered."""

    def __call__(self) -> Callable[[list[Any]], Any]:
        """Compile; may raise any compiler error."""


CompileStage = Callable[[str, Any, MakeProgram], Callable[[List[Any]], Any]]
"""Takes ``forward``, ``backward`` or ``inference``, the graph, and its program generator."""


def inductor(compile_stage: CompileStage) -> Callable[[Any, Any], Any] | None:
    """Return Inductor's backend, except that ``compile_stage`` gets AOTAutograd's graphs.

    The returned functions take one list of inputs, which they may empty.  None if this torch has no
    such backend.
    """
    backend, compiler = PROBE.get("inductor_backend"), PROBE.get("inductor_compiler")
    if backend is None or compiler is None:
        return None

    def inner(graph: Any, inputs: Any, **options: Any) -> Any:
        direction = "inference" if options.get("is_inference") else "forward"
        direction = "backward" if options.get("is_backward") else direction
        run = compile_stage(direction, graph, lambda: compiler(graph, inputs, **options))
        # Set on both, since torch unwraps a function before hiding it again.
        run._boxed_call = True  # type: ignore[attr-defined]
        hidden: Any = invisible(run)
        hidden._boxed_call = True
        return hidden

    return lambda graph, inputs: backend(graph, inputs, inner_compile=inner)


@contextlib.contextmanager
def comparable(options: Mapping[str, Any], keeps_graphs: bool = False) -> Iterator[None]:
    """Make compiles inside the block draw eager's random numbers and use no cache.

    Args:
        options: Inductor's settings that the program requested.
        keeps_graphs: whether backward passes retain their graphs, so saved tensors must survive.
    """
    with contextlib.ExitStack() as stack:
        for name, settings in _SETTINGS.items():
            patch = PROBE.get(name)
            given = {**(options if name == "inductor_patch" else {}), **settings}
            if patch is None:
                continue
            if keeps_graphs and name == "functorch_patch":
                given["donated_buffer"] = False
            for setting, value in given.items():
                with contextlib.suppress(Exception):  # releases have different settings
                    stack.enter_context(patch(**{setting: value}))
        yield


def options_of(function: Any) -> dict[str, Any]:
    """Return the settings passed to ``torch.compile`` with a function that are not the defaults."""
    ask = getattr(function, "get_compiler_config", None)
    default = PROBE.get("inductor_settings_copy")
    try:
        asked = dict(ask()) if callable(ask) else {}
        known = dict(default()) if default is not None else {}
    except Exception:  # a backend without settings, or a third party's
        return {}
    return {n: v for n, v in asked.items() if n in known and repr(known[n]) != repr(v)}


@contextlib.contextmanager
def all_eager() -> Iterator[None]:
    """Run compiled code eagerly."""
    set_stance = PROBE.get("set_stance")
    with contextlib.ExitStack() as stack:
        if set_stance is not None:
            stack.enter_context(set_stance("force_eager"))
        yield


class Origin(NamedTuple):
    """The origin of a node in a later graph."""

    captured: str
    """The node of Dynamo's graph; empty if unknown."""
    source: str
    """Dynamo's name of the program's operation, also in a backward graph."""
    operator: str
    """The operator before decomposition, ``aten.silu.default``."""
    sequence: int | None
    """The sequence number that autograd gave the operation."""
    is_forward: bool
    """Whether it belongs to the forward pass; in a backward graph, it is a recomputation."""


def origin_of(node: Any) -> Origin:
    """Return the origin of a node, as far as its meta records it."""
    meta, captured = node.meta, ""
    sources = meta.get(FROM_KEY)
    while sources:
        last = sources[-1]  # until PyTorch 2.5 a pair of a name and a target
        captured = str(last[0] if isinstance(last, tuple) else last.name)
        sources = getattr(last, "from_node", None)
    source = ""
    for key in SOURCE_KEYS:
        if meta.get(key):
            source = str(meta[key][-1][0])
    operator, sequence = str(meta.get(OPERATOR_KEY) or ""), meta.get(SEQUENCE_KEY)
    return Origin(captured, source, operator, sequence, meta.get(PASS_KEY) == OF_FORWARD)


def sequence_number() -> int:
    """Return the sequence number of the next operation; 0 if unknown."""
    ask = PROBE.get("sequence_number")
    return 0 if ask is None else int(ask())


def differentiated() -> int | None:
    """Return the number of the operation whose gradient autograd is computing; None outside."""
    ask = PROBE.get("autograd_node")
    node = None if ask is None else ask()
    return None if node is None else int(node._sequence_nr())


def each_operation(call: Callable[..., Any]) -> Any:
    """Return a context in which ``call(operator, args, kwargs)`` runs each operator."""
    base = PROBE.get("dispatch_mode")
    if base is None:
        return contextlib.nullcontext()

    class Mode(base):  # type: ignore[misc, valid-type]
        @classmethod
        def ignore_compile_internals(cls) -> bool:
            return True

        def __torch_dispatch__(
            self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return call(operator, args, kwargs or {})

    return Mode()


def program_of(graph: Any, inputs: list[Any]) -> Callable[..., Any] | None:
    """Return Inductor's program for a graph of operators; None if it cannot compile it."""
    backend = PROBE.get("inductor_backend")
    try:
        return None if backend is None else backend(graph, list(inputs))
    except Exception:  # any compiler error
        return None
