# SPDX-License-Identifier: Apache-2.0
"""The graph half of :mod:`~pellucid.torch.taps.hooks`: what torch's graphs are asked and told.

What is altered are single graph modules that we were shown (:func:`after_recompile`), so that they
can run from a file, and the one function through which third parties show graphs
(:func:`add_formatted_graphs`), which has no other channel.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple

from ..model.events import Place
from ..model.stages import program_direction
from .hooks import PROBE, Remove, invisible, never_compile, no_op
from .shapes import (
    COMPILED_CODE,
    COMPILER,
    EMITTER_LOCAL,
    LAZY_METHODS,
    OPTIONS_OF_INDUCTOR,
    SHAPES,
    SOURCE_KEY,
    VALUE_KEYS,
    WRAPPED,
    has_own_class,
)
from .trace import TraceRecord


def emitted_graph(kind: str, payload: str) -> Any | None:
    """The graph module whose text, the payload, the structured-trace event being handled carries.

    None where AOTAutograd takes the text of a graph from its cache, and there is no graph.
    """
    name = EMITTER_LOCAL.get(kind)
    graph_module = PROBE.get("graph_module")
    if name is None or graph_module is None:
        return None
    for frame in _callers(25):
        if name in frame.f_code.co_varnames or name in frame.f_code.co_cellvars:
            found = frame.f_locals.get(name)
            if isinstance(found, graph_module):
                _check_inputs(found)
                return found
    if not any(_holds(frame, payload) for frame in _callers(25)):
        SHAPES.missed("graph of a trace event")
    return None


def _callers(most: int) -> Iterator[FrameType]:
    """The frames that led to the caller's, from its own caller's on."""
    frame = sys._getframe(2).f_back
    for _ in range(most):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _holds(frame: FrameType, payload: str) -> bool:
    """Whether a frame has an object that was made with this text: a cache's entry."""
    for value in list(frame.f_locals.values()):
        if isinstance(value, (ModuleType, TraceRecord, logging.LogRecord)):
            continue  # what is no object of torch's, and what the text is on its way in
        try:  # without a word to the object's own class, which may be the program's
            held = object.__getattribute__(value, "__dict__")
        except AttributeError:
            continue
        texts = list(held.values()) if isinstance(held, dict) else []
        if any(isinstance(text, str) and text == payload for text in texts):
            return True
    return False


def _check_inputs(graph: Any) -> None:
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    if inputs and not any(key in node.meta for node in inputs for key in VALUE_KEYS):
        SHAPES.missed("values of a graph's inputs")


def code_being_compiled() -> CodeType | None:
    """The code object that Dynamo works on now; None when that cannot be told."""
    for frame in _callers(40):
        if frame.f_code.co_name == COMPILER:
            code = frame.f_locals.get(COMPILED_CODE)
            if isinstance(code, CodeType):
                return code
    SHAPES.missed("code that is being compiled")
    return None


def callers_of_compile() -> Iterator[Place]:
    """The calls that led to the frame that Dynamo works on now, innermost first.

    torch's own account of them lacks the one that called the frame.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != COMPILER:
        frame = frame.f_back
    while frame is not None:
        yield Place(frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)
        frame = frame.f_back


class FrameState(NamedTuple):
    """What the function that Dynamo works on has: its globals, and the values of its cells."""

    globals: Mapping[str, Any]
    cells: Mapping[str, Any]
    is_export: bool = False


def frame_being_compiled(code: CodeType) -> FrameState:
    """What the frame of this code has that Dynamo works on now; nothing where that is not told."""
    for frame in _callers(40):
        held = frame.f_locals if frame.f_code.co_name == COMPILER else {}
        if held.get(COMPILED_CODE) is not code:
            continue
        scope, closure = held.get("globals"), held.get("closure") or ()
        cells = {}
        for name, cell in zip(code.co_freevars, closure if isinstance(closure, tuple) else ()):
            with contextlib.suppress(AttributeError, ValueError):  # no cell, or an empty one
                cells[name] = cell.cell_contents
        exports = held.get("export") is True
        return FrameState(scope if isinstance(scope, dict) else {}, cells, exports)
    return FrameState({}, {})


_WRAPPER = os.path.join("torch", "_dynamo", "external_utils.py")


def wrapped_name(code: CodeType, cells: Mapping[str, Any]) -> str:
    """The name of what torch has put a frame of its own around; empty where it is no such frame.

    What ``torch.compile`` is given that has no code of the user's (a container of modules, a
    partial, an object with a ``__call__``) runs within a function of torch's called ``inner``.
    """
    if code.co_name != "inner" or not code.co_filename.endswith(_WRAPPER):
        return ""
    wrapped = cells.get("fn")
    # A function has a frame of its own, which torch before 2.13 calls from here where it breaks.
    return "" if type(wrapped) is FunctionType else name_of_callable(wrapped)


def name_of_callable(value: Any) -> str:
    """What a person would call it: its own name, or that of its class; empty if it has neither."""
    for _ in range(8):
        if type(value) is functools.partial:
            value = value.func
    value = value.__func__ if type(value) is MethodType else value
    is_named = type(value) in (FunctionType, BuiltinFunctionType) or issubclass(type(value), type)
    return "" if value is None else str((value if is_named else type(value)).__name__)


def direction() -> str:
    """Which pass the graph that Inductor works on now is of; empty when that cannot be told.

    Inductor's events do not say, but the functions that emit them were told, and what comes from a
    cache has its program with it, which says so.
    """
    for frame in _callers(40):
        for name in OPTIONS_OF_INDUCTOR:
            if name in frame.f_code.co_varnames:
                options = frame.f_locals.get(name)
                if isinstance(options, dict) and "is_backward" in options:
                    if options["is_backward"]:
                        return "backward"
                    return "inference" if options.get("is_inference") else "forward"
        if "graph" in frame.f_code.co_varnames:
            program = getattr(frame.f_locals.get("graph"), "source_code", None)
            if isinstance(program, str) and program_direction(program):
                return program_direction(program)
    SHAPES.missed("options of Inductor")
    return ""


def add_formatted_graphs(receive: Callable[[str, Any], None]) -> Remove:
    """Call ``receive`` with the name and the graph of each call of ``lazy_format_graph_code``.

    Everybody has imported that function by name, so its code changes place, not the function.
    """
    function = PROBE.get("format_graph")
    if function is None:
        return no_op
    if not isinstance(function, FunctionType) or function.__closure__:
        SHAPES.missed("formatted graphs")
        return no_op
    before = function.__code__
    original = FunctionType(before, function.__globals__, function.__name__, function.__defaults__)
    original.__kwdefaults__ = function.__kwdefaults__

    def formatted(*args: Any, **kwargs: Any) -> Any:
        name, graph = _named(("name", "gm"), args, kwargs)
        if graph is None:
            SHAPES.missed("formatted graphs")
        else:
            receive(str(name), graph)
        return original(*args, **kwargs)

    shown, defaults = _trampoline.__code__, function.__kwdefaults__
    never_compile(shown)
    function.__kwdefaults__ = {**(defaults or {}), "pellucid_formatted": invisible(formatted)}
    function.__code__ = shown

    def remove() -> None:
        if function.__code__ is shown:  # else somebody else's change came after ours
            function.__code__ = before
            function.__kwdefaults__ = defaults

    return remove


def _named(names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """The first arguments of a call, however they were given; None for each that was not."""
    by_place = dict(zip(names, args))
    return [by_place.get(name, kwargs.get(name)) for name in names]


def _trampoline(*args: Any, pellucid_formatted: Any, **kwargs: Any) -> Any:
    # Runs in torch's namespace, and so knows of ours only what its defaults bring.  Whatever a
    # torch calls its function with, the function gets: its own defaults hold there.
    return pellucid_formatted(*args, **kwargs)


def memory_of(tensor: Any) -> Callable[[], bool]:
    """Whether the memory that a tensor lies in now is still held; it keeps none itself."""
    reference = PROBE.get("storage_reference")
    try:
        held = None if reference is None else reference(tensor.untyped_storage())
    except (AttributeError, NotImplementedError, RuntimeError):  # no tensor, or one without memory
        held = None
    return lambda: held is None or not held.expired()


def size_hint(size: Any) -> Any | None:
    """The number that torch compiled with where a size is symbolic; None when it has none.

    Asking the symbol itself would add a guard to the compile that it belongs to.
    """
    node = getattr(size, "node", None)
    if node is None:
        return size
    try:
        hint = node.hint
    except AttributeError:
        SHAPES.has("hint of a symbolic size")
        return None
    except Exception:  # known only at run time
        return None
    return hint if isinstance(hint, (bool, int, float)) else None


def elements(tensor: Any) -> Any | None:
    """The elements of a real tensor as nested lists, read outside of any tracing that goes on."""
    without_modes = PROBE.get("without_modes")
    if without_modes is None:
        return None
    with without_modes():
        return tensor.tolist()


def source_of(placeholder: Any) -> str | None:
    """Where an input of a graph of Dynamo's is from, in torch's words; None when it is not told."""
    source = getattr(placeholder.meta.get(SOURCE_KEY), "source", None)
    return _worded(source)


def sources_of_inputs(graph: Any) -> tuple[str, ...]:
    """Where what AOTAutograd is given with a graph of Dynamo's is from, in torch's words."""
    held = [source for _, source, _ in held_by(graph)]
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return (*held, *(source_of(node) or "" for node in inputs))


def held_by(graph: Any) -> Iterator[tuple[str, str, Any]]:
    """What a graph of Dynamo's holds itself and is not given: name, where it is from, and value.

    Older releases give a graph none of the program's parameters. torch says where one is from only
    after it has shown the graph: until then it has its own name.
    """
    sources = getattr(graph, "_param_name_to_source", None) or {}
    for name, value in (*graph.named_parameters(), *graph.named_buffers()):
        yield name, _worded(sources.get(name)) or name, value


def _worded(source: Any) -> str | None:
    name = getattr(source, "name", None)  # a method in older torch
    name = name() if callable(name) else name
    return name if isinstance(name, str) else None


def readable(graph: Any) -> str:
    """A graph module's code with shapes and the user's lines, for the calling form it has now."""
    options = {"include_stride": True, "include_device": True}
    try:
        text = graph.print_readable(print_output=False, **options)
    except TypeError:  # before torch 2.5 there are no such options
        text = graph.print_readable(print_output=False)
    return str(text)


def forward_function(graph: Any) -> FunctionType | None:
    """The generated ``forward`` of a graph module; None while torch has not generated it."""
    lazy = PROBE.get("lazy_graph_module")
    function = type(graph).__dict__.get("forward")
    if not isinstance(function, FunctionType):
        return None
    if lazy is not None:
        unmade = lazy.__dict__.get(LAZY_METHODS[1])
        if unmade is None:
            SHAPES.missed("lazy graph")
        if function is unmade:
            return None
    return function


def after_recompile(graph: Any, follow: Callable[[Any], None], copies: bool) -> bool:
    """Call ``follow(graph)`` each time torch has generated this graph's ``forward``.

    torch gives every graph module a class of its own, so only this one graph is concerned and, with
    ``copies``, its deep copies.  Returns False when the graph does not have a separate class.
    """
    cls = type(graph)
    if not has_own_class(graph):
        SHAPES.missed("class of a graph")
        return False
    if is_followed(graph):
        return False
    lazy = PROBE.get("lazy_graph_module")
    is_lazy = lazy is not None and isinstance(graph, lazy)
    name = LAZY_METHODS[0] if is_lazy else "recompile"
    if not hasattr(cls, name):
        SHAPES.missed("lazy graph")
        return False
    recompile, deepcopy = getattr(cls, name), cls.__deepcopy__

    # What torch does inside must stay as visible to Dynamo as ever, and only our own part not.
    unseen = invisible(follow)

    def recompile_and_follow(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = recompile(self, *args, **kwargs)
        unseen(self)
        return result

    def deepcopy_and_follow(self: Any, memo: Any) -> Any:
        copy = deepcopy(self, memo)
        also(copy)
        return copy

    also = invisible(lambda copy: after_recompile(copy, follow, copies))
    never_compile(recompile_and_follow.__code__)
    never_compile(deepcopy_and_follow.__code__)
    setattr(cls, name, recompile_and_follow)
    if copies:
        cls.__deepcopy__ = deepcopy_and_follow
    cls._pellucid_follow = True
    if forward_function(graph) is not None:
        follow(graph)
    return True


def is_followed(graph: Any) -> bool:
    """Whether a graph, or the one that it is a copy of, is one that :func:`after_recompile` has."""
    return "_pellucid_follow" in type(graph).__dict__


def program_functions(path: str) -> list[FunctionType]:
    """The Python functions of the modules that Inductor has loaded from one of its files."""
    modules = PROBE.get("inductor_modules")
    found: list[FunctionType] = []
    if isinstance(modules, dict):  # by key, in older torch
        modules = list(modules.values())
    if modules is not None and not isinstance(modules, list):
        SHAPES.missed("modules of Inductor")
        return []
    if modules and not any(hasattr(module, "__file__") for module in modules):
        SHAPES.missed("modules of Inductor")
    for module in list(modules or ()):
        if getattr(module, "__file__", None) != path:
            continue
        found += functions_of(path, vars(module).values())
    return found


def functions_of(path: str, values: Iterable[Any]) -> list[FunctionType]:
    """The Python functions of one file among values and the methods of classes among them."""
    values = list(values)
    for value in [value for value in values if isinstance(value, type)]:
        values += vars(value).values()
    functions = (value for value in values if isinstance(value, FunctionType))
    return list({id(f): f for f in functions if f.__code__.co_filename == path}.values())


# -- a backend of our own --------------------------------------------------------------------------


def aot_backend(compile_graph: Callable[[str, Any], Callable[..., Any]]) -> Any | None:
    """A backend that runs AOTAutograd's graphs through ``compile_graph(stage, graph)``.

    What that returns is called with one list of inputs, which it may empty.
    """
    make = PROBE.get("aot_backend")
    if make is None:
        return None

    def compiler(stage: str) -> Callable[[Any, Any], Any]:
        def compile_stage(graph: Any, _inputs: Any) -> Any:
            run = compile_graph(stage, graph)
            if not SHAPES.has("calls with one list of inputs"):
                return invisible(lambda *values: run(list(values)))
            # On both: torch unwraps a function that it is to make invisible once more.
            run._boxed_call = True  # type: ignore[attr-defined]
            hidden = invisible(run)
            hidden._boxed_call = True  # type: ignore[attr-defined]
            return hidden

        return compile_stage

    return make(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
    )


@contextlib.contextmanager
def every_compile_by(backend: Any) -> Iterator[bool]:
    """Make all that compiles inside the block compile by this backend, and as often as it needs.

    Yields whether functions that are compiled already are concerned too.
    """
    set_stance, patch = PROBE.get("set_stance"), PROBE.get("dynamo_patch")
    with contextlib.ExitStack() as stack:
        if patch is not None:
            for name in ("cache_size_limit", "recompile_limit", "accumulated_cache_size_limit"):
                with contextlib.suppress(Exception):  # which of these there are differs
                    stack.enter_context(patch(**{name: 1 << 20}))
        forced = False
        if set_stance is not None:
            with contextlib.suppress(TypeError):  # in older torch a stance has no backend
                stack.enter_context(set_stance("default", force_backend=_kept(backend, stack)))
                forced = True
        yield forced


def _kept(backend: Any, block: contextlib.ExitStack) -> Callable[..., Any]:
    """A backend that outlives what it compiles, in place of one that need not.

    What torch 2.8 has compiled points to its backend and does not own it: to look for the version
    that fits is a crash once a forced backend is gone.
    """
    current = [backend]

    def forced(graph: Any, inputs: Any) -> Any:
        return current[0](graph, inputs)

    block.callback(current.clear)
    _FORCED.append(forced)
    return forced


_FORCED: list[Callable[..., Any]] = []


def uncompiled(function: Any) -> Any:
    """What ``torch.compile`` was called with, or the function itself."""
    SHAPES.has("what torch.compile was called with")
    for name in WRAPPED:
        inner = getattr(function, name, None)
        if inner is not None:
            return inner
    return function
