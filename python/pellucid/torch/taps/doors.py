# SPDX-License-Identifier: Apache-2.0
"""Compiled code that bypasses Dynamo's bytecode hook.

Dynamo calls its hook when it generates bytecode for a call.  Code that is compiled ahead of time
(``aot_compile``), loaded from a file, or installed by a package of compiled code
(``caching_precompile``) arrives through two other functions of torch, which are wrapped here.  Much
of the work is done outside any compile with an id: the events of that time belong to the
:class:`Scope` of the thread.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import itertools
import sys
import threading
import weakref
from collections import ChainMap
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional

from pellucid.dump.model import ids
from pellucid.dump.model.events import Place

from . import hooks
from .compat import resolve
from .graph_hooks import FrameState, functions_of
from .hooks import PROBE, Remove, invisible, never_compile, no_op
from .outcomes import caller

AHEAD, LOADED, PACKAGE, EXPORT = "ahead of time", "loaded", "package", "export"
PRECOMPILE = "precompile"
_NUMBERED = {LOADED: ids.LOADED, PRECOMPILE: ids.PRECOMPILED}
_NUMBERS = {way: itertools.count() for way in _NUMBERED}


class Arrival(NamedTuple):
    """Code that Dynamo generated, and its context."""

    original: CodeType
    code: CodeType
    guard_manager: Any
    state: FrameState
    way: str
    """The way it arrived: ``AHEAD``, ``LOADED``, ``PACKAGE`` or ``EXPORT``."""
    compile_id: str | None


Receive = Callable[[Arrival], Optional[CodeType]]
ReceiveProgram = Callable[[str, "list[FunctionType]", Optional[str]], object]
"""Called with a program's text, its functions, and the id of the work that it belongs to."""


class Scope:
    """Work on one function outside any compile of torch's; its events share one id."""

    def __init__(self, way: str) -> None:
        self.way = way
        self._id: str | None = None

    def compile_id(self, given: str | None) -> str | None:
        """Return the id of an event: torch's if there is one, else that of the work so far.

        torch numbers the functions that it compiles, but not those that it loads or captures by
        ``precompile``: the first of these gets ``L0/0`` or ``P0/0``, the next one ``L1/0`` or
        ``P1/0``.
        """
        if given is not None:
            self._id = _of_version(given) if self.way == PACKAGE else given
        elif self._id is None and self.way in _NUMBERED:
            self._id = ids.own_id(_NUMBERED[self.way], next(_NUMBERS[self.way]))
        return self._id

    @property
    def known(self) -> str | None:
        """Return the id so far."""
        return self._id


class _Thread(threading.local):
    scope: Scope | None = None


_THREAD = _Thread()


def scope() -> Scope | None:
    """Return this thread's current work outside torch's compiles."""
    return _THREAD.scope


def compile_id() -> str | None:
    """Return the id of this thread's compile, or of the code that it is loading."""
    own = hooks.current_compile_id()
    return own if _THREAD.scope is None else _THREAD.scope.compile_id(own)


def _of_version(given: str) -> str:
    """Return the id of the version that a package is installing; torch has one id for all."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(60):
        if frame is None:
            break
        if frame.f_code.co_name == "install" and "entry" in frame.f_locals:
            local = frame.f_locals
            versions = list(getattr(local["entry"], "guarded_codes", ()))
            for number, version in enumerate(versions):
                names = getattr(getattr(version, "dynamo_code", None), "co_names", ())
                # The graphs of all versions are created first, then each version is installed.
                now = local.get("guarded_code")
                if version is now or (now not in versions and local.get("backend_id") in names):
                    return ids.version_of(given, number)
        frame = frame.f_back
    return given


@contextlib.contextmanager
def _scoped(way: str) -> Iterator[None]:
    outer, _THREAD.scope = _THREAD.scope, Scope(way)
    try:
        yield
    finally:
        _THREAD.scope = outer


def add_doors(receive: Receive, receive_program: ReceiveProgram) -> Remove:
    """Call ``receive`` with all code that bypasses the bytecode hook; the code it returns runs.

    ``receive_program`` is called with the programs that ``torch.compiler.precompile`` executes.
    """
    unseen, program_unseen = invisible(receive), invisible(receive_program)
    removes = [
        _around("aot_compile", lambda old: _in_scope(old, AHEAD)),
        _around("aot_load", lambda old: _in_scope(old, LOADED)),
        _around("aot_function", lambda old: _told(old, unseen)),
        _around("aot_guards", _checked),
        _around("package_install", lambda old: _in_scope(old, PACKAGE)),
        _around("package_entry", lambda old: _installed(old, unseen)),
        _around("export_capture", lambda old: _exported(old, unseen)),
        _around("precompile_capture", lambda old: _in_scope(old, PRECOMPILE)),
        _around("precompile_program", lambda old: _executed(old, program_unseen)),
    ]

    def remove() -> None:
        for each in removes:
            each()

    return remove


def _around(name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Remove:
    """Replace one of torch's functions by the result of ``make`` on it."""
    if not _exists(name) or PROBE.get(name) is None:
        return no_op
    owner, attribute = PROBE.place(name) or (None, "")
    before = inspect.getattr_static(owner, attribute)
    is_class = isinstance(before, classmethod)
    ours = make(before.__func__ if is_class else before)
    never_compile(ours.__code__)
    put = classmethod(ours) if is_class else ours
    setattr(owner, attribute, put)

    def remove() -> None:
        # otherwise other code has wrapped it since
        if inspect.getattr_static(owner, attribute) is put:
            setattr(owner, attribute, before)

    return remove


def _exists(name: str) -> bool:
    """Return true if this torch has the entry point at all; older releases do not miss it."""
    return any(resolve(path.partition(":")[0] + ":") for path in PROBE.paths(name))


def _in_scope(old: Callable[..., Any], way: str) -> Callable[..., Any]:
    @functools.wraps(old)
    def work(*args: Any, **kwargs: Any) -> Any:
        with _scoped(way):
            return old(*args, **kwargs)

    return work


def _told(old: Callable[..., Any], receive: Receive) -> Callable[..., Any]:
    """Wrap the constructor of functions that are compiled ahead of time or loaded."""

    @functools.wraps(old)
    def made(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A function compiled here has its guards already; for a loaded one they are built here.
        known = getattr(getattr(self, "_artifacts", None), "guard_manager", None)
        result = old(self, *args, **kwargs)
        arrival = _of_function(self, LOADED if known is None else AHEAD, compile_id())
        if arrival is not None:
            _SEEN.add(self.fn)
            code = receive(arrival)
            if code is not None:
                with contextlib.suppress(ValueError):  # it has different free variables
                    self.fn.__code__ = code
        return result

    return made


def _of_function(made: Any, way: str, known: str | None) -> Arrival | None:
    function, artifacts = getattr(made, "fn", None), getattr(made, "_artifacts", None)
    original = getattr(artifacts, "original_code", None)
    if not isinstance(function, FunctionType) or not isinstance(original, CodeType):
        return None
    code = function.__code__
    state = FrameState(function.__globals__, _cells(code, function.__closure__))
    return Arrival(original, code, getattr(artifacts, "guard_manager", None), state, way, known)


def _cells(code: CodeType, closure: tuple[Any, ...] | None) -> dict[str, Any]:
    cells = {}
    for name, cell in zip(code.co_freevars, closure or ()):
        with contextlib.suppress(ValueError):  # an empty cell
            cells[name] = cell.cell_contents
    return cells


def _exported(old: Callable[..., Any], receive: Receive) -> Callable[..., Any]:
    """Wrap the capture of a graph for export, which calls generated code around the graph."""

    @functools.wraps(old)
    def capture(*args: Any, **kwargs: Any) -> Any:
        with _scoped(EXPORT):
            captured = old(*args, **kwargs)
            made: Any = getattr(captured, "graph_capture_output", None)
            code, traced = getattr(made, "bytecode", None), getattr(made, "traced_code", None)
            if isinstance(code, CodeType) and traced:
                state = FrameState(made.f_globals, _cells(code, made.closure))
                arrival = Arrival(traced[0], code, None, state, EXPORT, compile_id())
                made.bytecode = receive(arrival) or code
        return captured

    return capture


def _executed(old: Callable[..., Any], receive: ReceiveProgram) -> Callable[..., Any]:
    """Wrap the execution of a precompiled function's program."""

    @functools.wraps(old)
    def execute(text: str, *args: Any, **kwargs: Any) -> Any:
        with contextlib.nullcontext() if scope() else _scoped(LOADED):
            forward = old(text, *args, **kwargs)
            file = forward.__code__.co_filename
            receive(text, functions_of(file, forward.__globals__.values()), compile_id())
        return forward

    return execute


def on_failure(guard_manager: Any, failed: Callable[[str, Place | None], None]) -> None:
    """Call ``failed`` if the guards of code compiled ahead of time fail for a call.

    torch only queries the reason right before it raises an error, so the wrapper reports it then.
    """
    check: Callable[[Any], Any] | None = getattr(guard_manager, "check_verbose", None)
    if check is None:
        return
    unseen = invisible(failed)

    def check_verbose(values: Any) -> Any:
        info = check(values)
        parts = list(getattr(info, "verbose_code_parts", None) or ())
        unseen(str(parts[0]) if parts else "", caller())
        return info

    never_compile(check_verbose.__code__)
    with contextlib.suppress(AttributeError):
        guard_manager.check_verbose = check_verbose


def _checked(old: Callable[..., bool]) -> Callable[..., bool]:
    """Wrap the guard check before a call, for failures of functions that no capture knows."""

    @functools.wraps(old)
    def guard_check(self: Any, *args: Any, **kwargs: Any) -> bool:
        holds = old(self, *args, **kwargs)
        if not holds and self.fn not in _SEEN and self.fn not in _FAILED:
            failures = _FAILED[self.fn] = []
            on_failure(self._artifacts.guard_manager, lambda *told: failures.append(told))
        return holds

    return guard_check


def failures_before(made: Arrival) -> list[tuple[str, Place | None]]:
    """Return the guards of one of :func:`made_before` that failed since; each is returned once."""
    functions = [function for function in _FAILED if function.__code__ is made.code]
    told = [failure for function in functions for failure in _FAILED[function]]
    for function in functions:
        _FAILED[function].clear()
    return told


def _installed(old: Callable[..., Any], receive: Receive) -> Callable[..., Any]:
    """Wrap the installation of a function's version from a package."""

    @functools.wraps(old)
    def install(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 3 and isinstance(args[0], CodeType) and isinstance(args[2], CodeType):
            original, manager, code = args
            scope_of: Mapping[str, Any] = _globals_of(sys._getframe(1).f_locals)
            state = FrameState(scope_of, {})
            arrival = Arrival(original, code, manager, state, PACKAGE, compile_id())
            args = (original, manager, receive(arrival) or code)
        return old(*args, **kwargs)

    return install


def _globals_of(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the globals of the installed code, including resume functions not installed yet."""
    scope = values.get("runtime_global_scope")
    if not isinstance(scope, dict):
        return {}
    waiting = {}
    for code, entry in getattr(values.get("self"), "_codes", {}).items():
        cells = tuple(CellType() for _ in code.co_freevars)
        for name in entry.function_names if entry.install_to_global else ():
            waiting[name] = FunctionType(code, scope, name, None, cells)
    return ChainMap(waiting, scope)


def traceable(function: Any) -> Any:
    """Return the original of a function compiled ahead of time or loaded, to recompile it.

    Other functions are returned unchanged.
    """
    made = compiled_ahead(function)
    if made is None:
        return function
    code = function._artifacts.original_code
    cells = dict(zip(made.__code__.co_freevars, made.__closure__ or ()))
    closure = tuple(cells.get(name) or CellType() for name in code.co_freevars)
    # The compiled function has copies of the globals; the program's own may have changed since.
    own = getattr(function, "_extra_globals", None)
    scope = own if isinstance(own, dict) else made.__globals__
    plain = FunctionType(code, scope, code.co_name, made.__defaults__, closure)
    plain.__kwdefaults__ = made.__kwdefaults__
    return plain


def compiled_ahead(function: Any) -> FunctionType | None:
    """Return the function inside one compiled ahead of time or loaded; None for others."""
    made = getattr(function, "fn", None) if type(function) is _class_of_ahead() else None
    return made if isinstance(made, FunctionType) else None


def _class_of_ahead() -> Any:
    if "torch._dynamo.aot_compile" not in sys.modules or not _exists("aot_function"):
        return None
    return (PROBE.place("aot_function") or (None, ""))[0]


_SEEN: weakref.WeakSet[FunctionType] = weakref.WeakSet()
_FAILED: weakref.WeakKeyDictionary[FunctionType, list[tuple[str, Place | None]]] = (
    weakref.WeakKeyDictionary()
)


def all_ahead() -> list[Arrival]:
    """Return all functions compiled ahead of time or loaded, by searching all objects."""
    owner = _class_of_ahead()
    # The interpreter's own search takes half the time of one here. (Since 3.9, an object refers to
    # its class; releases of torch for 3.8 have none of these.)
    objects = [] if owner is None else gc.get_referrers(owner)
    made = [_of_function(each, AHEAD, None) for each in objects if type(each) is owner]
    return [arrival for arrival in made if arrival is not None]


def made_before() -> list[Arrival]:
    """Return the functions compiled ahead of time or loaded that no capture has seen."""
    seen = {id(function.__code__) for function in _SEEN}
    return [arrival for arrival in all_ahead() if id(arrival.code) not in seen]
