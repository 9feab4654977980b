# SPDX-License-Identifier: Apache-2.0
"""One compile, taken apart: what torch is asked for so that each of its stages can be run alone.

Inductor's backend takes the function that makes a program of a graph; ours is given the graph that
AOTAutograd hands over, and makes the program when it is wanted.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Protocol

from .hooks import PROBE, invisible

FROM_KEY, OPERATOR_KEY, SEQUENCE_KEY = "from_node", "original_aten", "seq_nr"
PASS_KEY, OF_FORWARD = "partitioner_tag", "is_forward"
SOURCE_KEYS = ("source_fn_stack", "fwd_source_fn_stack")
"""The keys of a node's ``meta`` that tell what it was made of; without them less is matched."""

_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Inductor's own generator gives numbers of its own, and so nothing that could be compared.
    "inductor_patch": {
        "fallback_random": True,
        "fx_graph_cache": False,
        "fx_graph_remote_cache": False,
        "triton.cudagraphs": False,
    },
    "functorch_patch": {"enable_autograd_cache": False, "enable_remote_autograd_cache": False},
}


class MakeProgram(Protocol):
    """Makes the program of a graph, which changes the graph on its way to what it is made of."""

    def __call__(self) -> Callable[[list[Any]], Any]:
        """Compile; may raise what a compiler raises."""


CompileStage = Callable[[str, Any, MakeProgram], Callable[[list[Any]], Any]]
"""Is given ``forward``, ``backward`` or ``inference``, the graph and how to make its program."""


def inductor(compile_stage: CompileStage) -> Callable[[Any, Any], Any] | None:
    """A backend that is Inductor's down to AOTAutograd's graphs, which ``compile_stage`` gets.

    What that returns is called with one list of inputs, which it may empty.  None where this torch
    has no such backend.
    """
    backend, compiler = PROBE.get("inductor_backend"), PROBE.get("inductor_compiler")
    if backend is None or compiler is None:
        return None

    def inner(graph: Any, inputs: Any, **options: Any) -> Any:
        direction = "inference" if options.get("is_inference") else "forward"
        direction = "backward" if options.get("is_backward") else direction
        run = compile_stage(direction, graph, lambda: compiler(graph, inputs, **options))
        # On both: torch unwraps a function that it is to make invisible once more.
        run._boxed_call = True  # type: ignore[attr-defined]
        hidden: Any = invisible(run)
        hidden._boxed_call = True
        return hidden

    return lambda graph, inputs: backend(graph, inputs, inner_compile=inner)


@contextlib.contextmanager
def comparable(options: Mapping[str, Any], keeps_graphs: bool = False) -> Iterator[None]:
    """Let what compiles inside the block draw eager's random numbers, and come from no cache.

    Args:
        options: Inductor's settings that the program has asked for itself.
        keeps_graphs: whether backward passes retain their graphs, which what they have saved must
            then survive.
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
                with contextlib.suppress(Exception):  # which of these there are differs
                    stack.enter_context(patch(**{setting: value}))
        yield


def options_of(function: Any) -> dict[str, Any]:
    """The settings that ``torch.compile`` was given with a function, beside Inductor's own."""
    ask = getattr(function, "get_compiler_config", None)
    default = PROBE.get("inductor_settings_copy")
    try:
        asked = dict(ask()) if callable(ask) else {}
        known = dict(default()) if default is not None else {}
    except Exception:  # a backend without any, or somebody else's
        return {}
    return {n: v for n, v in asked.items() if n in known and repr(known[n]) != repr(v)}


@contextlib.contextmanager
def all_eager() -> Iterator[None]:
    """Run what is compiled as if it were not."""
    set_stance = PROBE.get("set_stance")
    with contextlib.ExitStack() as stack:
        if set_stance is not None:
            stack.enter_context(set_stance("force_eager"))
        yield


class Origin(NamedTuple):
    """What a node of a later graph was made of."""

    captured: str
    """The node of Dynamo's graph; empty where that is not told."""
    source: str
    """What Dynamo calls the operation of the program, also in a backward graph."""
    operator: str
    """The operator before it was decomposed, ``aten.silu.default``."""
    sequence: int | None
    """The number that autograd gave to the operation."""
    is_forward: bool
    """Whether it is of the forward pass; in a backward graph such is computed again."""


def origin_of(node: Any) -> Origin:
    """Tell what a node was made of, as far as its meta says."""
    meta, captured = node.meta, ""
    sources = meta.get(FROM_KEY)
    while sources:
        captured, sources = str(sources[-1].name), getattr(sources[-1], "from_node", None)
    source = ""
    for key in SOURCE_KEYS:
        if meta.get(key):
            source = str(meta[key][-1][0])
    operator, sequence = str(meta.get(OPERATOR_KEY) or ""), meta.get(SEQUENCE_KEY)
    return Origin(captured, source, operator, sequence, meta.get(PASS_KEY) == OF_FORWARD)


def sequence_number() -> int:
    """The number that autograd will give to the next operation; 0 where it does not tell."""
    ask = PROBE.get("sequence_number")
    return 0 if ask is None else int(ask())


def differentiated() -> int | None:
    """The number of the operation whose gradient autograd computes now; None outside of that."""
    ask = PROBE.get("autograd_node")
    node = None if ask is None else ask()
    return None if node is None else int(node._sequence_nr())


def each_operation(call: Callable[..., Any]) -> Any:
    """A context in which ``call(operator, args, kwargs)`` runs each operator, below autograd."""
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
    """Inductor's program of a graph of operators; None where it cannot make one."""
    backend = PROBE.get("inductor_backend")
    try:
        return None if backend is None else backend(graph, list(inputs))
    except Exception:  # whatever a compiler raises
        return None
