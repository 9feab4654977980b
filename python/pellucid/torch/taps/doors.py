# SPDX-License-Identifier: Apache-2.0
"""Compiled code that reaches a program past Dynamo's bytecode hook.

Dynamo calls its hook where it makes bytecode for a call.  What is compiled ahead of time
(``aot_compile``), what is loaded from a file, and what a package of compiled code installs
(``caching_precompile``) comes in through two other functions of torch's: here they tell of it.
Much of the work is done outside of any compile that torch has a name for: the events that it sends
meanwhile belong to the :class:`Scope` of the thread.
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

from ..model import ids
from ..model.events import Place
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
    """Code that Dynamo generated, with what it is for."""

    original: CodeType
    code: CodeType
    guard_manager: Any
    state: FrameState
    way: str
    """How it came: ``AHEAD``, ``LOADED``, ``PACKAGE`` or ``EXPORT``."""
    compile_id: str | None


Receive = Callable[[Arrival], Optional[CodeType]]
ReceiveProgram = Callable[[str, "list[FunctionType]", Optional[str]], object]
"""Called with the text of a program, its functions, and the id of the work that it belongs to."""


class Scope:
    """Work for one function outside of any compile of torch's: the events of it have one id."""

    def __init__(self, way: str) -> None:
        self.way = way
        self._id: str | None = None

    def compile_id(self, given: str | None) -> str | None:
        """The id of an event: torch's where it has one, else that of the work so far.

        torch numbers what it compiles, and not what it loads or captures by ``precompile``: the
        first of these is ``L0/0`` or ``P0/0``, the next one ``L1/0`` or ``P1/0``.
        """
        if given is not None:
            self._id = _of_version(given) if self.way == PACKAGE else given
        elif self._id is None and self.way in _NUMBERED:
            self._id = ids.own_id(_NUMBERED[self.way], next(_NUMBERS[self.way]))
        return self._id

    @property
    def known(self) -> str | None:
        """The id so far."""
        return self._id


class _Thread(threading.local):
    scope: Scope | None = None


_THREAD = _Thread()


def scope() -> Scope | None:
    """What this thread works on outside of torch's compiles."""
    return _THREAD.scope


def compile_id() -> str | None:
    """The id of the compile that this thread is in, or of the code that it loads."""
    own = hooks.current_compile_id()
    return own if _THREAD.scope is None else _THREAD.scope.compile_id(own)


def _of_version(given: str) -> str:
    """The id of the version that a package installs now: torch has one for all of a function."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(60):
        if frame is None:
            break
        if frame.f_code.co_name == "install" and "entry" in frame.f_locals:
            local = frame.f_locals
            versions = list(getattr(local["entry"], "guarded_codes", ()))
            for number, version in enumerate(versions):
                names = getattr(getattr(version, "dynamo_code", None), "co_names", ())
                # First the graphs of all versions are made, then each version is installed.
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
    """Call ``receive`` with all code that comes past the bytecode hook; what it returns runs.

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
    """Put what ``make`` makes of a function of torch's into its place."""
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
        if inspect.getattr_static(owner, attribute) is put:  # else somebody has put theirs around
            setattr(owner, attribute, before)

    return remove


def _exists(name: str) -> bool:
    """Whether this torch has the door at all: older releases have none to miss."""
    return any(resolve(path.partition(":")[0] + ":") for path in PROBE.paths(name))


def _in_scope(old: Callable[..., Any], way: str) -> Callable[..., Any]:
    @functools.wraps(old)
    def work(*args: Any, **kwargs: Any) -> Any:
        with _scoped(way):
            return old(*args, **kwargs)

    return work


def _told(old: Callable[..., Any], receive: Receive) -> Callable[..., Any]:
    """Around the end of making a function that was compiled ahead of time, or loaded."""

    @functools.wraps(old)
    def made(self: Any, *args: Any, **kwargs: Any) -> Any:
        # What is compiled here has its guards already; what is loaded makes them here.
        known = getattr(getattr(self, "_artifacts", None), "guard_manager", None)
        result = old(self, *args, **kwargs)
        arrival = _of_function(self, LOADED if known is None else AHEAD, compile_id())
        if arrival is not None:
            _SEEN.add(self.fn)
            code = receive(arrival)
            if code is not None:
                with contextlib.suppress(ValueError):  # it has other free variables
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
        with contextlib.suppress(ValueError):  # an empty one
            cells[name] = cell.cell_contents
    return cells


def _exported(old: Callable[..., Any], receive: Receive) -> Callable[..., Any]:
    """Around the capture of a graph for export, which calls generated code around the graph."""

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
    """Around the execution of a program that a precompiled function consists of."""

    @functools.wraps(old)
    def execute(text: str, *args: Any, **kwargs: Any) -> Any:
        with contextlib.nullcontext() if scope() else _scoped(LOADED):
            forward = old(text, *args, **kwargs)
            file = forward.__code__.co_filename
            receive(text, functions_of(file, forward.__globals__.values()), compile_id())
        return forward

    return execute


def on_failure(guard_manager: Any, failed: Callable[[str, Place | None], None]) -> None:
    """Call ``failed`` when the guards of code compiled ahead of time do not hold for a call.

    torch asks them why only where it then raises an error, which is where this is told.
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
    """Around the check of guards before a call: what fails of functions that no capture knows."""

    @functools.wraps(old)
    def guard_check(self: Any, *args: Any, **kwargs: Any) -> bool:
        holds = old(self, *args, **kwargs)
        if not holds and self.fn not in _SEEN and self.fn not in _FAILED:
            failures = _FAILED[self.fn] = []
            on_failure(self._artifacts.guard_manager, lambda *told: failures.append(told))
        return holds

    return guard_check


def failures_before(made: Arrival) -> list[tuple[str, Place | None]]:
    """Return the guards of one of :func:`made_before` that failed since; told once."""
    functions = [function for function in _FAILED if function.__code__ is made.code]
    told = [failure for function in functions for failure in _FAILED[function]]
    for function in functions:
        _FAILED[function].clear()
    return told


def _installed(old: Callable[..., Any], receive: Receive) -> Callable[..., Any]:
    """Around the installation of a version of a function that a package holds."""

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
    """The globals of what torch installs, with the resume functions that it has yet to install."""
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
    """What can be compiled again: of a function compiled ahead of time, or loaded, its original.

    Anything else is returned as it is.
    """
    made = compiled_ahead(function)
    if made is None:
        return function
    code = function._artifacts.original_code
    cells = dict(zip(made.__code__.co_freevars, made.__closure__ or ()))
    closure = tuple(cells.get(name) or CellType() for name in code.co_freevars)
    # What runs has copies of the globals; the program's own may have changed since.
    own = getattr(function, "_extra_globals", None)
    scope = own if isinstance(own, dict) else made.__globals__
    plain = FunctionType(code, scope, code.co_name, made.__defaults__, closure)
    plain.__kwdefaults__ = made.__kwdefaults__
    return plain


def compiled_ahead(function: Any) -> FunctionType | None:
    """What a function runs that was compiled ahead of time, or loaded; None for anything else."""
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
    """All functions compiled ahead of time, or loaded; all objects are searched for them."""
    owner = _class_of_ahead()
    objects = [] if owner is None else [each for each in gc.get_objects() if type(each) is owner]
    return [found for found in (_of_function(each, AHEAD, None) for each in objects) if found]


def made_before() -> list[Arrival]:
    """The functions compiled ahead of time, or loaded, that no capture was told of."""
    seen = {id(function.__code__) for function in _SEEN}
    return [arrival for arrival in all_ahead() if id(arrival.code) not in seen]
