"""The one module that touches torch's internals.

Everything else in pellucid sees torch through these functions.  Each of them asks
:mod:`~pellucid.torch.compat` for what it needs, and does nothing but say so when this torch has it
not.  Nothing here patches a torch function: the steady channels are the bytecode hook, a handler of
our own on the structured-trace logger, and the cache entries.  The one thing that is altered is a
single graph module that we were shown (:func:`after_recompile`), so that it can run from a file.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Callable, Iterator, Optional

from .compat import Capability, Probe
from .trace import Listeners, TraceHandler, TraceRecord

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

    return {"torch": str(torch.__version__), "python": ".".join(map(str, sys.version_info[:3]))}


def rank() -> int:
    """This process's rank in a distributed job, 0 when there is none."""
    try:
        import torch.distributed as dist

        if dist.is_available() and dist.is_initialized():
            return int(dist.get_rank())
    except Exception:  # a half-initialised process group must not cost the capture
        pass
    try:
        return int(os.environ.get("RANK", "0"))
    except ValueError:
        return 0


def no_op() -> None:
    """Remove nothing: what a missing channel returns."""


def _invisible(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep Dynamo from compiling a function of ours.

    A backward pass may run, and be compiled, inside a compiled program at a graph break; Dynamo
    then looks at every frame that starts, and would count and compile ours with the program's.
    """
    disable = _probe.get("disable")
    return function if disable is None else disable(function)


# -- the bytecode hook -----------------------------------------------------------------------------


def add_bytecode_hook(hook: BytecodeHook) -> Remove:
    """Call ``hook(original, transformed)`` for each frame; what it returns, if anything, runs."""
    register = _probe.get("bytecode_hook")
    if register is None:
        return no_op
    remove: Remove = register(hook).remove
    return remove


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
    handler.emit = _invisible(handler.emit)  # type: ignore[method-assign]
    # In front: torch's own handler takes itself off the list at the first record when no trace
    # directory is set, and logging then skips the handler that stood behind it.
    log.handlers = Listeners([handler, *log.handlers])

    def remove() -> None:
        log.handlers = [other for other in log.handlers if other is not handler]

    return remove


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
                getattr(entry, "guard_manager", None),
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


def leaf_guards(guard_manager: Any) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) for every leaf guard of a guard manager, in the order of its tree."""
    root = getattr(guard_manager, "root", guard_manager)
    pending = [root]
    while pending:
        manager = pending.pop()
        for leaf in manager.get_leaf_guards():
            for text in leaf.verbose_code_parts():
                yield type(leaf).__name__, str(text)
        pending.extend(reversed(manager.get_child_managers()))
    for leaf in getattr(root, "get_epilogue_lambda_guards", list)():
        for text in leaf.verbose_code_parts():
            yield type(leaf).__name__, str(text)


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

    def recompile_and_follow(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = recompile(self, *args, **kwargs)
        follow(self)
        return result

    def deepcopy_and_follow(self: Any, memo: Any) -> Any:
        copy = deepcopy(self, memo)
        after_recompile(copy, follow, copies)
        return copy

    setattr(cls, name, _invisible(recompile_and_follow))
    if copies:
        cls.__deepcopy__ = _invisible(deepcopy_and_follow)
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


# -- logs ------------------------------------------------------------------------------------------


def bytecode_log() -> logging.Logger | None:
    """The logger behind ``TORCH_LOGS=+bytecode``."""
    log = _probe.get("bytecode_log")
    return log if isinstance(log, logging.Logger) else None
