"""The one module that touches torch's internals.

Everything else in pellucid sees torch through these functions.  Each of them asks
:mod:`~pellucid.torch.compat` for what it needs, and does nothing but say so when this torch has it
not.  The steady channels are the bytecode hook, a handler of our own on the structured-trace
logger, and the cache entries.  What is altered are single graph modules that we were shown
(:func:`after_recompile`), so that they can run from a file, and the one function through which
third parties show graphs (:func:`add_formatted_graphs`), which has no other channel.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Callable, Iterator, Optional

from pellucid._version import __version__

from .compat import Capability, Probe
from .trace import OURS, Listeners, TraceHandler, TraceRecord

Remove = Callable[[], None]
BytecodeHook = Callable[[CodeType, CodeType], Optional[CodeType]]


def _warn_missing(row: Capability) -> None:
    warnings.warn(
        f"pellucid: this torch has no {row.name} where it is looked for; {row.lost}",
        RuntimeWarning,
        stacklevel=4,
    )


_probe = Probe(_warn_missing)


def missing() -> tuple[Capability, ...]:
    """The capabilities that this torch was found not to have, so far."""
    return _probe.missing


def versions() -> dict[str, str]:
    """Versions that belong in a capture's record."""
    import torch

    found = {
        "pellucid": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "torch": str(torch.__version__),
    }
    for name in ("git_version", "cuda", "hip"):
        value = getattr(torch.version, name, None)
        if value:
            found[f"torch {name}"] = str(value)
    return found


def changed_configuration() -> dict[str, str]:
    """The settings of the compilers that are not at their defaults, as Python.

    Settings of the environment that torch's compilers read are among them.
    """
    found: dict[str, str] = {}
    for module in ("_dynamo", "_functorch", "_inductor"):
        if f"torch.{module}.config" not in sys.modules:
            continue  # not used, and not worth an import
        codegen = _probe.get(f"{module[1:]}_settings")
        if codegen is None:
            continue
        for line in str(codegen()).splitlines():
            setting, equals, value = line.partition(" = ")
            if equals:
                found[setting.strip()] = value.strip()
    for variable, value in os.environ.items():
        if variable.startswith(_ENVIRONMENT):
            found[f"os.environ[{variable!r}]"] = repr(value)
    return dict(sorted(found.items()))


_ENVIRONMENT = ("TORCHDYNAMO_", "TORCHINDUCTOR_", "TORCH_COMPILE", "TORCH_LOGS", "TORCH_TRACE")


def rank() -> int:
    """This process's rank in a distributed job, 0 when there is none."""
    if is_ranked():
        import torch.distributed as dist

        return int(dist.get_rank())
    try:
        return int(os.environ.get("RANK", "0"))
    except ValueError:
        return 0


def is_ranked() -> bool:
    """Whether this process has joined a distributed job itself, and not just a parent of its."""
    try:
        import torch.distributed as dist

        return bool(dist.is_available() and dist.is_initialized())
    except Exception:  # a half-initialised process group must not cost the capture
        return False


def no_op() -> None:
    """Remove nothing: what a missing channel returns."""


def invisible(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep Dynamo from compiling a function of ours.

    A backward pass may run, and be compiled, inside a compiled program at a graph break; Dynamo
    then looks at every frame that starts, and would count and compile ours with the program's.
    """
    disable = _probe.get("disable")
    return function if disable is None else disable(function)


def _invisible_when_called(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a method of a class that is made before torch is needed."""
    made: list[Callable[..., Any]] = []

    def call(self: Any) -> Any:
        if not made:
            made.append(invisible(method))
            never_compile(call.__code__)
        return made[0](self)

    return call


# -- the bytecode hook -----------------------------------------------------------------------------


def add_bytecode_hook(hook: BytecodeHook) -> Remove:
    """Call ``hook(original, transformed)`` for each frame; what it returns, if anything, runs."""
    register = _probe.get("bytecode_hook")
    if register is None:
        return no_op
    remove: Remove = register(hook).remove
    return remove


def resume_parameters(original: CodeType) -> dict[int, list[tuple[str, ...]]]:
    """The parameters of the functions that go on with ``original``, by the offset where they do."""
    found: dict[int, list[tuple[str, ...]]] = {}
    cache = _probe.get("resume_functions")
    try:
        if cache is None or original not in cache:
            return found
        for key, code in dict(cache[original]).items():
            if isinstance(code, CodeType) and key and isinstance(key[0], int):
                names = tuple(code.co_varnames[: code.co_argcount])
                found.setdefault(key[0], []).append(names)
    except Exception:  # a name is not worth an exception in the program
        return {}
    return found


def current_compile_id() -> str | None:
    """The id of the compile that this thread is in, as torch prints it (``0/1``)."""
    context = _probe.get("compile_context")
    if context is None:
        return None
    try:
        current = context.current_compile_id()
    except Exception:  # outside a compile some releases raise
        return None
    return None if current is None else str(current)


# -- the structured trace --------------------------------------------------------------------------


class _InvisibleListeners(Listeners):
    __bool__ = _invisible_when_called(Listeners.__bool__)


def _trace_context(given: Any) -> dict[str, Any]:
    """The fields of a trace record that name the compile, as torch fills them in."""
    context = _probe.get("compile_context")
    trace = None if context is None else context.current_trace_id()
    compile_id = given if trace is None else trace.compile_id
    fields = {
        name: getattr(compile_id, name, None)
        for name in ("compiled_autograd_id", "frame_id", "frame_compile_id")
    }
    found = {name: value for name, value in fields.items() if value is not None}
    return found if trace is None else {**found, "attempt": trace.attempt}


def add_trace_handler(receive: Callable[[TraceRecord], None]) -> Remove:
    """Call ``receive`` with each event of the structured trace, in the thread that compiles.

    torch makes an event only when somebody listens, and some are dear; those that nobody wants are
    still not made (:class:`~pellucid.torch.trace.Listeners`).
    """
    log = _probe.get("trace_log")
    if log is None:
        return no_op
    handler = TraceHandler(receive)
    # As an attribute, so that the frame of `emit` itself is invisible.
    handler.emit = invisible(handler.emit)  # type: ignore[method-assign]
    # In front: torch's own handler takes itself off the list at the first record when no trace
    # directory is set, and logging then skips the handler that stood behind it.
    log.handlers = _InvisibleListeners([handler, *log.handlers], _trace_context)

    def remove() -> None:
        log.handlers = [other for other in log.handlers if other is not handler]

    return remove


def send_artifact(name: str, text: str) -> None:
    """Send text to who reads torch's structured trace (``TORCH_TRACE``, and so tlparse).

    It belongs to the compile that this thread is in.  Where only we listen nothing is sent.
    """
    log, send = _probe.get("trace_log"), _probe.get("trace_structured")
    if log is None or send is None:
        return
    if not any(not isinstance(handler, TraceHandler) for handler in log.handlers):
        return
    send(
        "artifact",
        metadata_fn=lambda: {"name": f"{OURS}{name}", "encoding": "string"},
        payload_fn=lambda: text,
    )


def interned(index: object) -> str | None:
    """The string that the structured trace has written as a number (file names in stacks)."""
    if isinstance(index, str):
        return index
    table = _probe.get("interned_strings")
    if table is None:
        return None
    return next((text for text, number in list(table.items()) if number == index), None)


# -- cache entries ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class RawEntry:
    """A cache entry as torch holds it."""

    compile_id: str | None
    code: CodeType
    guard_manager: Any


def cache_entries(code: CodeType) -> list[RawEntry]:
    """The compiled versions of a code object, in the order in which torch tries them."""
    find = _probe.get("cache_entries")
    if find is None:
        return []
    entries = []
    for entry in find(code):
        compile_id = getattr(entry, "compile_id", None)
        entries.append(
            RawEntry(
                None if compile_id is None else str(compile_id),
                entry.code,
                # Before torch 2.5 the manager was called what it had replaced.
                getattr(entry, "guard_manager", None) or getattr(entry, "check_fn", None),
            )
        )
    return entries


def compiled_before() -> list[CodeType]:
    """The user's code objects that have been compiled in this process so far."""
    table = _probe.get("compiled_before")
    if table is None:
        return []
    # ExactWeakKeyDictionary keeps a dict named `values`; an ordinary mapping has a method.
    held = table.values.values() if isinstance(table.values, dict) else table.values()
    unique: dict[int, CodeType] = {id(code): code for code in list(held)}
    return list(unique.values())


# -- graph modules ---------------------------------------------------------------------------------

# The structured trace has a graph's text, not the graph.  The function that emits the event has
# it in a local of this name; when a torch renames it, graphs stop running from their files and
# nothing else is lost.
_EMITTER_LOCAL = {
    "dynamo_output_graph": "gm",
    "aot_joint_graph": "fx_g",
    "aot_forward_graph": "fw_module",
    "aot_inference_graph": "fw_module",
    "aot_backward_graph": "bw_module",
}


def emitted_graph(kind: str) -> Any | None:
    """The graph module whose text the structured-trace event being handled carries."""
    name = _EMITTER_LOCAL.get(kind)
    graph_module = _probe.get("graph_module")
    if name is None or graph_module is None:
        return None
    frame = sys._getframe(1)
    for _ in range(24):
        if frame.f_back is None:
            return None
        frame = frame.f_back
        if name in frame.f_code.co_varnames or name in frame.f_code.co_cellvars:
            found = frame.f_locals.get(name)
            if isinstance(found, graph_module):
                return found
    return None


def direction() -> str:
    """Which pass the graph that Inductor works on now is of; empty when that cannot be told.

    Inductor's events do not say, but the functions that emit them were told.
    """
    frame = sys._getframe(1).f_back
    for _ in range(40):
        if frame is None:
            return ""
        for name in _OPTIONS_OF_INDUCTOR:
            if name in frame.f_code.co_varnames:
                options = frame.f_locals.get(name)
                if isinstance(options, dict) and "is_backward" in options:
                    if options["is_backward"]:
                        return "backward"
                    return "inference" if options.get("is_inference") else "forward"
        frame = frame.f_back
    return ""


_OPTIONS_OF_INDUCTOR = ("graph_kwargs", "fx_kwargs", "kwargs")


def add_formatted_graphs(receive: Callable[[str, Any], None]) -> Remove:
    """Call ``receive`` with the name and the graph of each call of ``lazy_format_graph_code``.

    Everybody has imported that function by name, so its code changes place, not the function.
    """
    function = _probe.get("format_graph")
    if not isinstance(function, FunctionType) or function.__closure__:
        return no_op
    before = function.__code__
    original = FunctionType(before, function.__globals__, function.__name__, function.__defaults__)
    original.__kwdefaults__ = function.__kwdefaults__

    def formatted(name: str, graph: Any, *args: Any, **kwargs: Any) -> Any:
        receive(str(name), graph)
        return original(name, graph, *args, **kwargs)

    shown, defaults = _trampoline.__code__, function.__kwdefaults__
    never_compile(shown)
    function.__kwdefaults__ = {**(defaults or {}), "pellucid_formatted": invisible(formatted)}
    function.__code__ = shown

    def remove() -> None:
        if function.__code__ is shown:  # else somebody else's change came after ours
            function.__code__ = before
            function.__kwdefaults__ = defaults

    return remove


def _trampoline(
    name: Any, gm: Any, maybe_id: Any = None, *, pellucid_formatted: Any, **kwargs: Any
) -> Any:
    # Runs in torch's namespace, and so knows of ours only what its defaults bring.
    return pellucid_formatted(name, gm, maybe_id, **kwargs)


def size_hint(size: Any) -> Any | None:
    """The number that torch compiled with where a size is symbolic; None when it has none.

    Asking the symbol itself would add a guard to the compile that it belongs to.
    """
    node = getattr(size, "node", None)
    if node is None:
        return size
    try:
        hint = node.hint
    except Exception:  # known only at run time
        return None
    return hint if isinstance(hint, (bool, int, float)) else None


def elements(tensor: Any) -> Any | None:
    """The elements of a real tensor as nested lists, read outside of any tracing that goes on."""
    without_modes = _probe.get("without_modes")
    if without_modes is None:
        return None
    with without_modes():
        return tensor.tolist()


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
    lazy = _probe.get("lazy_graph_module")
    function = type(graph).__dict__.get("forward")
    if not isinstance(function, FunctionType):
        return None
    if lazy is not None and function is lazy.__dict__.get("_lazy_forward"):
        return None
    return function


def after_recompile(graph: Any, follow: Callable[[Any], None], copies: bool) -> bool:
    """Call ``follow(graph)`` each time torch has generated this graph's ``forward``.

    torch gives every graph module a class of its own, so only this one graph is concerned and, with
    ``copies``, its deep copies.  Returns False when the graph has no class of its own.
    """
    cls = type(graph)
    own = cls.__qualname__.rpartition(".")[2] == "GraphModuleImpl"
    if not own or "_pellucid_follow" in cls.__dict__:
        return False
    lazy = _probe.get("lazy_graph_module")
    is_lazy = lazy is not None and isinstance(graph, lazy)
    name = "_real_recompile" if is_lazy else "recompile"
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


def program_functions(path: str) -> list[FunctionType]:
    """The Python functions of the modules that Inductor has loaded from one of its files."""
    modules = _probe.get("inductor_modules")
    found: dict[int, FunctionType] = {}
    for module in list(modules or ()):
        if getattr(module, "__file__", None) != path:
            continue
        values = list(vars(module).values())
        for value in [v for v in values if isinstance(v, type) and v.__module__ == module.__name__]:
            values += vars(value).values()
        for value in values:
            if isinstance(value, FunctionType) and value.__code__.co_filename == path:
                found[id(value)] = value
    return list(found.values())


def never_compile(code: CodeType) -> bool:
    """Tell Dynamo to leave this code alone, as it does for the code that torch generates."""
    skip = _probe.get("skip_code")
    if skip is None:
        return False
    skip(code)
    return True


# -- a backend of our own --------------------------------------------------------------------------


def aot_backend(compile_graph: Callable[[str, Any], Callable[..., Any]]) -> Any | None:
    """A backend that runs AOTAutograd's graphs through ``compile_graph(stage, graph)``.

    What that returns is called with one list of inputs, which it may empty.
    """
    make = _probe.get("aot_backend")
    if make is None:
        return None

    def compiler(stage: str) -> Callable[[Any, Any], Any]:
        def compile_stage(graph: Any, _inputs: Any) -> Any:
            run = compile_graph(stage, graph)
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
    set_stance, patch = _probe.get("set_stance"), _probe.get("dynamo_patch")
    with contextlib.ExitStack() as stack:
        if patch is not None:
            for name in ("cache_size_limit", "recompile_limit", "accumulated_cache_size_limit"):
                with contextlib.suppress(Exception):  # which of these there are differs
                    stack.enter_context(patch(**{name: 1 << 20}))
        forced = False
        if set_stance is not None:
            with contextlib.suppress(TypeError):  # in older torch a stance has no backend
                stack.enter_context(set_stance("default", force_backend=backend))
                forced = True
        yield forced


def uncompiled(function: Any) -> Any:
    """What ``torch.compile`` was called with, or the function itself."""
    for name in ("_orig_mod", "_torchdynamo_orig_callable"):
        inner = getattr(function, name, None)
        if inner is not None:
            return inner
    return function


# -- logs ------------------------------------------------------------------------------------------


def bytecode_log() -> logging.Logger | None:
    """The logger behind ``TORCH_LOGS=+bytecode``."""
    log = _probe.get("bytecode_log")
    return log if isinstance(log, logging.Logger) else None
