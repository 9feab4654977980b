# SPDX-License-Identifier: Apache-2.0
"""The access to torch's internals, with :mod:`~pellucid.torch.taps.graph_hooks` for its graphs.

All other code sees torch through these functions.  Each of them gets what it needs from
:mod:`compat`, and does nothing but report it if this torch lacks it.  The permanent channels are
the bytecode hook, our handler on the structured-trace logger, and the cache entries.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import traceback
import warnings
from dataclasses import dataclass
from types import CodeType
from typing import Any, Callable, FrozenSet, Optional

from pellucid._version import __version__
from pellucid.dump.model.names import scrub

from .code_words import tells_default
from .compat import Capability, Probe
from .shapes import SHAPES
from .trace import OURS, Listeners, TraceHandler, TraceRecord

Remove = Callable[[], None]
BytecodeHook = Callable[[CodeType, CodeType], Optional[CodeType]]


def _warn_missing(row: Capability) -> None:
    if QUIET.is_set():
        return
    warnings.warn(
        f"pellucid: this torch has no {row.name} in the expected place; {row.lost}",
        RuntimeWarning,
        stacklevel=4,
    )


QUIET = threading.Event()
"""Set if the user has not asked for warnings; each index lists missing features anyway."""
PROBE = Probe(_warn_missing)


def missing() -> tuple[Capability, ...]:
    """Return the capabilities found to be missing in this torch, so far."""
    return PROBE.missing


def traces_recompiles() -> bool:
    """Return true if this torch's trace has the reasons of recompiles."""
    return PROBE.has("traced_recompiles")


def versions() -> dict[str, str]:
    """Return the versions to store in a capture's record."""
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


def folder() -> str:
    """Return the folder of torch's own files, with a trailing separator."""
    import torch

    return os.path.join(os.path.dirname(os.path.abspath(torch.__file__)), "")


def changed_configuration() -> dict[str, str]:
    """Return the compiler settings that are not at their defaults, as Python.

    This includes environment variables that torch's compilers read.
    """
    found: dict[str, str] = {}
    for module in ("_dynamo", "_functorch", "_inductor"):
        if f"torch.{module}.config" not in sys.modules:
            continue  # not used, and not worth an import
        codegen = PROBE.get(f"{module[1:]}_settings")
        if codegen is None:
            continue
        for line in str(codegen()).splitlines():
            setting, equals, value = line.partition(" = ")
            if equals and not _is_default(codegen, setting.strip(), value.strip()):
                found[setting.strip()] = value.strip()
    for variable, value in os.environ.items():
        if variable.startswith(_ENVIRONMENT):
            found[f"os.environ[{variable!r}]"] = repr(value)
    return dict(sorted(found.items()))


def _is_default(codegen: Any, setting: str, value: str) -> bool:
    """Return true if a setting is at its default; some releases list it if it was ever set.

    A temporary patch of a setting, as torch itself makes, is enough for that.
    """
    module, name = getattr(codegen, "__self__", None), setting.rpartition(".config.")[2]
    if not tells_default(module, name):
        SHAPES.missed("defaults of settings")
        return False
    entry = getattr(module, "_config", {}).get(name)
    return repr(getattr(entry, "default", _UNKNOWN)) == value


_UNKNOWN = object()


_ENVIRONMENT = ("TORCHDYNAMO_", "TORCHINDUCTOR_", "TORCH_COMPILE", "TORCH_LOGS", "TORCH_TRACE")


def rank() -> int:
    """Return this process's rank in a distributed job, 0 outside a job."""
    if is_ranked():
        import torch.distributed as dist

        return int(dist.get_rank())
    try:
        return int(os.environ.get("RANK", "0"))
    except ValueError:
        return 0


def is_ranked() -> bool:
    """Return true if this process joined a distributed job itself, rather than its parent."""
    try:
        group = _process_group()
        return group is not None and group is not _parents_group
    except Exception:  # a half-initialised process group must not break the capture
        return False


def _process_group() -> Any | None:
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return None
    return dist.group.WORLD


_parents_group: Any = None


def note_fork() -> None:
    """Record in a forked child that the current job is its parent's."""
    global _parents_group
    try:
        _parents_group = _process_group()
    except Exception:
        _parents_group = None


def place_in_job() -> tuple[int | None, int | None]:
    """Return this process's rank and the number of ranks; None for both outside a job."""
    try:
        if is_ranked():
            import torch.distributed as dist

            return int(dist.get_rank()), int(dist.get_world_size())
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError, RuntimeError):
        return None, None


def no_op() -> None:
    """Remove nothing; returned for a missing channel."""


def invisible(function: Callable[..., Any]) -> Callable[..., Any]:
    """Prevent Dynamo from compiling a function of ours.

    A backward pass may run, and be compiled, inside a compiled program at a graph break.  Dynamo
    then checks every frame that starts, and would count and compile ours with the program's.
    """
    disable = PROBE.get("disable")
    return function if disable is None else disable(function)


def _invisible_when_called(method: Callable[..., Any]) -> Callable[..., Any]:
    """Do the same for a method of a class that is defined before torch is needed."""
    made: list[Callable[..., Any]] = []

    def call(self: Any) -> Any:
        if not made:
            made.append(invisible(method))
            never_compile(call.__code__)
        return made[0](self)

    return call


def never_compile(code: CodeType) -> bool:
    """Make Dynamo skip this code, as it does for the code that torch generates."""
    skip = PROBE.get("skip_code")
    if skip is None:
        return False
    skip(code)
    return True


# -- the bytecode hook -----------------------------------------------------------------------------


def add_bytecode_hook(hook: BytecodeHook) -> Remove:
    """Call ``hook(original, transformed)`` for each frame; the code it returns, if any, runs."""
    register = PROBE.get("bytecode_hook")
    if register is None:
        return no_op
    remove: Remove | None = getattr(register(hook), "remove", None)
    if remove is None:
        SHAPES.missed("handle of a hook")
        return no_op
    return remove


def resume_parameters(original: CodeType) -> dict[int, list[tuple[str, ...]]]:
    """Return the parameters of the functions that resume ``original``, by offset."""
    found: dict[int, list[tuple[str, ...]]] = {}
    cache = PROBE.get("resume_functions")
    try:
        held = {} if cache is None or original not in cache else dict(cache[original])
        for key, code in held.items():
            if isinstance(code, CodeType) and key and isinstance(key[0], int):
                names = tuple(code.co_varnames[: code.co_argcount])
                found.setdefault(key[0], []).append(names)
        known = bool(found) or not held
    except Exception:  # a name is not worth an exception in the program
        found, known = {}, False
    if not known:
        SHAPES.missed("offsets of resume functions")
    return found


def current_compile_id() -> str | None:
    """Return the id of this thread's compile, as torch prints it (``0/1``)."""
    context = PROBE.get("compile_context")
    if context is None:
        return None
    ask = getattr(context, "current_compile_id", None)
    if ask is None:
        SHAPES.missed("fields of a compile id")
        return None
    try:
        current = ask()
    except Exception:  # some releases raise outside a compile
        return None
    return None if current is None else str(current)


# -- the structured trace --------------------------------------------------------------------------


class _InvisibleListeners(Listeners):
    __bool__ = _invisible_when_called(Listeners.__bool__)


def _trace_context(given: Any) -> dict[str, Any]:
    """Return the fields of a trace record that identify the compile, as torch sets them."""
    context = PROBE.get("compile_context")
    ask = getattr(context, "current_trace_id", None)
    trace = None if ask is None else ask()
    compile_id = given if trace is None else getattr(trace, "compile_id", None)
    fields = {
        name: getattr(compile_id, name, None)
        for name in ("compiled_autograd_id", "frame_id", "frame_compile_id")
    }
    found: dict[str, Any] = {name: v for name, v in fields.items() if v is not None}
    attempt = getattr(trace, "attempt", None)
    if (context is not None and ask is None) or (trace is not None and not found):
        SHAPES.missed("fields of a compile id")
    ask = getattr(sys.modules.get("torch.fx.traceback"), _SUBGRAPH, None)
    subgraph = ask() if callable(ask) else None
    if subgraph is not None:
        found["subgraph_name"] = subgraph
    return found if attempt is None else {**found, "attempt": attempt}


_SUBGRAPH = "_get_regional_inductor_subgraph_name"
"""The function that names a separately compiled part of a graph; older releases lack it."""


def add_trace_handler(
    receive: Callable[[TraceRecord], None],
    only: Callable[[], Optional[FrozenSet[str]]] = lambda: None,
) -> Remove:
    """Call ``receive`` with each event of the structured trace, in the compiling thread.

    While ``only`` returns names, other events are not generated, nor are the payloads of these.

    torch only generates events while it has handlers, and some are expensive; unwanted events are
    still not generated (:class:`~pellucid.torch.taps.trace.Listeners`).
    """
    log = PROBE.get("trace_log")
    if log is None:
        return no_op
    handler = TraceHandler(receive, only)
    emit = handler.emit

    def emit_and_tell(record: logging.LogRecord) -> None:
        # If ours is the only handler, events are handled when torch checks for handlers.
        if len(log.handlers) == 1 and getattr(log.handlers, "is_asked_elsewhere", False):
            SHAPES.missed("arguments of a trace event")
        emit(record)

    # An attribute, so that the frame of `emit` itself is hidden from Dynamo.
    handler.emit = invisible(emit_and_tell)  # type: ignore[method-assign]
    # First in the list: torch's own handler removes itself at the first record if no trace
    # directory is set, and logging then skips the handler after it.
    with _handlers_lock():
        log.handlers = _InvisibleListeners(
            [handler, *log.handlers],
            _trace_context,
            lambda: SHAPES.missed("arguments of a trace event"),
        )

    def remove() -> None:
        with _handlers_lock():
            log.handlers = [other for other in log.handlers if other is not handler]

    return remove


def _handlers_lock() -> Any:
    """Return the lock that logging holds while it changes a logger's handlers."""
    return getattr(logging, "_lock", None) or contextlib.nullcontext()


class BreakReasons:
    """The graph breaks that torch keeps in a list, whether it traces them or not."""

    def __init__(self, reasons: list[Any]) -> None:
        self._reasons = reasons
        self._taken = len(reasons)

    def skip(self) -> None:
        """Skip the breaks up to now."""
        self._taken = len(self._reasons)

    def take(self) -> list[str]:
        """Return the breaks since the last call, in the text form of torch's trace."""
        if len(self._reasons) < self._taken:
            self._taken = 0  # torch was reset since
        new = self._reasons[self._taken :]
        self._taken += len(new)
        told = [reason for reason in new if all(hasattr(reason, name) for name in _TOLD)]
        if len(told) < len(new):
            SHAPES.missed("reason of a graph break")
        return [_break_text(reason) for reason in told]


def break_reasons() -> BreakReasons:
    """Return the graph breaks from now on."""
    reasons = PROBE.get("break_reasons") if PROBE.has("break_reasons") else None
    return BreakReasons(reasons if isinstance(reasons, list) else [])


_TOLD = ("reason", "user_stack")


def _break_text(reason: Any) -> str:
    stack = list(reason.user_stack)
    place = f"Graph break in user code at {stack[-1].filename}:{stack[-1].lineno}\n"
    way = "".join(traceback.format_list(stack))
    text = f"Graph Break Reason: {scrub(str(reason.reason))}\n"
    return f"{place}{text}\nUser code traceback:\n{way}" if stack else text


def send_artifact(name: str, text: str) -> None:
    """Send text to the readers of torch's structured trace (``TORCH_TRACE``, and so tlparse).

    It belongs to this thread's compile.  Nothing is sent if there is no handler but ours.
    """
    log, send = PROBE.get("trace_log"), PROBE.get("trace_structured")
    if log is None or send is None:
        return
    if not any(not isinstance(handler, TraceHandler) for handler in log.handlers):
        return
    send(
        "artifact",
        metadata_fn=lambda: {"name": f"{OURS}{name}", "encoding": "string"},
        payload_fn=lambda: text,
    )


def computed_again() -> frozenset[str] | None:
    """Return the operations that torch recomputes in a backward pass; None if unknown."""
    lists = PROBE.get("operation_lists")
    if lists is None:
        return None
    listed = getattr(lists(), "recomputable_ops", None)
    if not listed:
        SHAPES.missed("operations that are computed again")
        return None
    return frozenset(map(str, listed))


def interned(index: object) -> str | None:
    """Return the string that the structured trace interned as a number (file names in stacks)."""
    if isinstance(index, str):
        return index
    table = PROBE.get("interned_strings")
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
    """Return the compiled versions of a code object, in the order in which torch tries them."""
    find = PROBE.get("cache_entries")
    if find is None:
        return []
    entries = []
    for entry in find(code):
        transformed = getattr(entry, "code", _UNKNOWN)
        if transformed is None:
            continue  # dropped: an object that it identifies is gone
        # Before torch 2.5, the manager had the name of its predecessor.
        manager = getattr(entry, "guard_manager", None) or getattr(entry, "check_fn", None)
        if not isinstance(transformed, CodeType) or manager is None:
            SHAPES.missed("cache entry")
        if not isinstance(transformed, CodeType):
            continue
        compile_id = getattr(entry, "compile_id", None)
        entries.append(
            RawEntry(None if compile_id is None else str(compile_id), transformed, manager)
        )
    return entries


def compiled_before() -> list[CodeType]:
    """Return the user's code objects that have been compiled in this process so far."""
    table = PROBE.get("compiled_before")
    if table is None:
        return []
    # ExactWeakKeyDictionary keeps a dict named `values`; an ordinary mapping has a method.
    held = table.values.values() if isinstance(table.values, dict) else table.values()
    unique: dict[int, CodeType] = {id(code): code for code in list(held)}
    return list(unique.values())


def asked_to_compile() -> bool:
    """Return true if the program has called ``torch.compile``, whatever the outcome."""
    backends = PROBE.get("asked_backends")
    return isinstance(backends, dict) and any(map(callable, list(backends.values())))


# -- logs ------------------------------------------------------------------------------------------


def bytecode_log() -> logging.Logger | None:
    """Return the logger of ``TORCH_LOGS=+bytecode``."""
    log = PROBE.get("bytecode_log")
    return log if isinstance(log, logging.Logger) else None
