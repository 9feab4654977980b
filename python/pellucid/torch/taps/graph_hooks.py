# SPDX-License-Identifier: Apache-2.0
"""The graph half of :mod:`~pellucid.torch.taps.hooks`: queries on, and changes to, torch's graphs.

Changes affect only single graph modules passed to :func:`after_recompile`, so that they can run
from a file, and the one function with which third parties print graphs
(:func:`add_formatted_graphs`), since there is no other channel.
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

from pellucid.dump.model.events import Place
from pellucid.dump.model.stages import program_direction

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
    """Return the graph module of the trace event being handled, whose text is the payload.

    None if AOTAutograd takes the text from its cache, since there is no graph then.
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
    """Yield the frames above the caller's caller."""
    frame = sys._getframe(2).f_back
    for _ in range(most):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _holds(frame: FrameType, payload: str) -> bool:
    """Return true if a frame has an object with this text: a cache entry."""
    for value in list(frame.f_locals.values()):
        if isinstance(value, (ModuleType, TraceRecord, logging.LogRecord)):
            continue  # not an object of torch's, or a carrier of the text itself
        try:  # bypass the object's class, which may be the program's
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
    """Return the code object that Dynamo is compiling; None if unknown."""
    for frame in _callers(40):
        if frame.f_code.co_name == COMPILER:
            code = frame.f_locals.get(COMPILED_CODE)
            if isinstance(code, CodeType):
                return code
    SHAPES.missed("code that is being compiled")
    return None


def callers_of_compile() -> Iterator[Place]:
    """Yield the calls that led to the frame that Dynamo is compiling, innermost first.

    torch's own list lacks the direct caller of the frame.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != COMPILER:
        frame = frame.f_back
    while frame is not None:
        yield Place(frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)
        frame = frame.f_back


class FrameState(NamedTuple):
    """The state of the function that Dynamo is compiling: its globals and the values of cells."""

    globals: Mapping[str, Any]
    cells: Mapping[str, Any]
    is_export: bool = False


def frame_being_compiled(code: CodeType) -> FrameState:
    """Return the state of the frame with this code that Dynamo is compiling; empty if unknown."""
    for frame in _callers(40):
        held = frame.f_locals if frame.f_code.co_name == COMPILER else {}
        if held.get(COMPILED_CODE) is not code:
            continue
        scope, closure = held.get("globals"), held.get("closure") or ()
        cells = {}
        for name, cell in zip(code.co_freevars, closure if isinstance(closure, tuple) else ()):
            with contextlib.suppress(AttributeError, ValueError):  # not a cell, or an empty one
                cells[name] = cell.cell_contents
        exports = held.get("export") is True
        return FrameState(scope if isinstance(scope, dict) else {}, cells, exports)
    return FrameState({}, {})


_WRAPPER = os.path.join("torch", "_dynamo", "external_utils.py")


def wrapped_name(code: CodeType, cells: Mapping[str, Any]) -> str:
    """Return the name of the object that torch's own wrapper frame runs; empty for other frames.

    An object without user code that is passed to ``torch.compile`` (a container of modules, a
    partial, an object with ``__call__``) runs inside torch's function ``inner``.
    """
    if code.co_name != "inner" or not code.co_filename.endswith(_WRAPPER):
        return ""
    wrapped = cells.get("fn")
    # A function has its own frame, which torch before 2.13 calls from here at a break.
    return "" if type(wrapped) is FunctionType else name_of_callable(wrapped)


def name_of_callable(value: Any) -> str:
    """Return the display name: the object's own name, or its class's; empty if it has neither."""
    for _ in range(8):
        if type(value) is functools.partial:
            value = value.func
    value = value.__func__ if type(value) is MethodType else value
    is_named = type(value) in (FunctionType, BuiltinFunctionType) or issubclass(type(value), type)
    return "" if value is None else str((value if is_named else type(value)).__name__)


def direction() -> str:
    """Return the pass of the graph that Inductor is compiling; empty if unknown.

    Inductor's events lack it, but the functions that emit them have it as an option, and an entry
    from a cache has its program, which names it.
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
    """Call ``receive`` with the name and graph of each call of ``lazy_format_graph_code``.

    Callers have imported that function by name, so its code is replaced, not the function.
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
        if function.__code__ is shown:  # otherwise other code has changed it since
            function.__code__ = before
            function.__kwdefaults__ = defaults

    return remove


def _named(names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the first arguments of a call, positional or by keyword; None for missing ones."""
    by_place = dict(zip(names, args))
    return [by_place.get(name, kwargs.get(name)) for name in names]


def _trampoline(*args: Any, pellucid_formatted: Any, **kwargs: Any) -> Any:
    # This runs in torch's namespace, so it reaches ours only through its defaults.  The function
    # gets torch's arguments unchanged, so its own defaults apply.
    return pellucid_formatted(*args, **kwargs)


def memory_of(tensor: Any) -> Callable[[], bool]:
    """Return a check whether a tensor's memory is still allocated, without keeping it alive."""
    reference = PROBE.get("storage_reference")
    try:
        held = None if reference is None else reference(tensor.untyped_storage())
    # not a tensor, or one without memory
    except (AttributeError, NotImplementedError, RuntimeError):
        held = None
    return lambda: held is None or not held.expired()


def size_hint(size: Any) -> Any | None:
    """Return the value that torch compiled with for a symbolic size; None if there is none.

    Evaluating the symbol would add a guard to its compile.
    """
    node = getattr(size, "node", None)
    if node is None:
        return size
    try:
        hint = node.hint
    except AttributeError:
        SHAPES.has("hint of a symbolic size")
        return None
    except Exception:  # only known at run time
        return None
    return hint if isinstance(hint, (bool, int, float)) else None


def elements(tensor: Any) -> Any | None:
    """Return the elements of a real tensor as nested lists, outside any active tracing."""
    without_modes = PROBE.get("without_modes")
    if without_modes is None:
        return None
    with without_modes():
        return tensor.tolist()


def source_of(placeholder: Any) -> str | None:
    """Return the source of an input of Dynamo's graph, in torch's words; None if unknown."""
    source = getattr(placeholder.meta.get(SOURCE_KEY), "source", None)
    return _worded(source)


def sources_of_inputs(graph: Any) -> tuple[str, ...]:
    """Return the sources of AOTAutograd's inputs for one of Dynamo's graphs, in torch's words."""
    held = [source for _, source, _ in held_by(graph)]
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return (*held, *(source_of(node) or "" for node in inputs))


def held_by(graph: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the parameters and buffers that Dynamo's graph holds: name, source, and value.

    In older releases they are all parameters of the program.  torch records a source only after it
    has emitted the graph; until then, the name is returned.
    """
    sources = getattr(graph, "_param_name_to_source", None) or {}
    for name, value in (*graph.named_parameters(), *graph.named_buffers()):
        yield name, _worded(sources.get(name)) or name, value


def _worded(source: Any) -> str | None:
    name = getattr(source, "name", None)  # a method in older torch
    name = name() if callable(name) else name
    return name if isinstance(name, str) else None


def readable(graph: Any) -> str:
    """Return a graph module's code with shapes and user lines, in its calling convention."""
    options = {"include_stride": True, "include_device": True}
    try:
        text = graph.print_readable(print_output=False, **options)
    except TypeError:  # torch before 2.5 lacks these options
        text = graph.print_readable(print_output=False)
    return str(text)


def forward_function(graph: Any) -> FunctionType | None:
    """Return the generated ``forward`` of a graph module; None if it is not generated yet."""
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

    torch gives every graph module a separate class, so this affects only this graph and, with
    ``copies``, its deep copies.  Returns False if the graph does not have a separate class.
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

    # torch's code must stay visible to Dynamo; only our own callback is hidden.
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
    """Return true if :func:`after_recompile` follows a graph, or the one it is a copy of."""
    return "_pellucid_follow" in type(graph).__dict__


def program_functions(path: str) -> list[FunctionType]:
    """Return the Python functions of the modules that Inductor has loaded from one of its files."""
    modules = PROBE.get("inductor_modules")
    found: list[FunctionType] = []
    if isinstance(modules, dict):  # a dict by key in older torch
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
    """Return the Python functions of one file among some values, including methods of classes."""
    values = list(values)
    for value in [value for value in values if isinstance(value, type)]:
        values += vars(value).values()
    functions = (value for value in values if isinstance(value, FunctionType))
    return list({id(f): f for f in functions if f.__code__.co_filename == path}.values())


# -- our own backend -------------------------------------------------------------------------------


def aot_backend(compile_graph: Callable[[str, Any], Callable[..., Any]]) -> Any | None:
    """Return a backend that runs AOTAutograd's graphs through ``compile_graph(stage, graph)``.

    The returned functions take one list of inputs, which they may empty.
    """
    make = PROBE.get("aot_backend")
    if make is None:
        return None

    def compiler(stage: str) -> Callable[[Any, Any], Any]:
        def compile_stage(graph: Any, _inputs: Any) -> Any:
            run = compile_graph(stage, graph)
            if not SHAPES.has("calls with one list of inputs"):
                return invisible(lambda *values: run(list(values)))
            # Set on both, since torch unwraps a function before hiding it again.
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
    """Make this backend compile everything inside the block, without a recompile limit.

    Yields whether that includes functions that are already compiled.
    """
    set_stance, patch = PROBE.get("set_stance"), PROBE.get("dynamo_patch")
    with contextlib.ExitStack() as stack:
        if patch is not None:
            for name in ("cache_size_limit", "recompile_limit", "accumulated_cache_size_limit"):
                with contextlib.suppress(Exception):  # releases have different settings
                    stack.enter_context(patch(**{name: 1 << 20}))
        forced = False
        if set_stance is not None:
            with contextlib.suppress(TypeError):  # in older torch, a stance has no backend
                stack.enter_context(set_stance("default", force_backend=_kept(backend, stack)))
                forced = True
        yield forced


def _kept(backend: Any, block: contextlib.ExitStack) -> Callable[..., Any]:
    """Wrap a backend in one that outlives the code it compiles.

    Code compiled by torch 2.8 points to its backend without owning it, so looking for a matching
    version crashes after a forced backend is freed.
    """
    current = [backend]

    def forced(graph: Any, inputs: Any) -> Any:
        return current[0](graph, inputs)

    block.callback(current.clear)
    _FORCED.append(forced)
    return forced


_FORCED: list[Callable[..., Any]] = []


def uncompiled(function: Any) -> Any:
    """Return the function passed to ``torch.compile``, or the function itself."""
    SHAPES.has("what torch.compile was called with")
    for name in WRAPPED:
        inner = getattr(function, name, None)
        if inner is not None:
            return inner
    return function
