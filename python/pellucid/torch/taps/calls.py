# SPDX-License-Identifier: Apache-2.0
"""The calls that a program makes to its own compiled code, as they happen.

A program enters compiled code through a few of torch's functions: the wrapper that
``torch.compile`` returns, a function compiled ahead of time, and ``aot_function``.  Python's
profiler reports when one of them starts and ends, so no wrapper is needed and the program keeps its
own caches, guards and settings.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional

from pellucid.dump.model.keys import Place

from .doors import traceable
from .graph_hooks import name_of_callable
from .hooks import PROBE, never_compile

JIT, AHEAD = "torch.compile", "compiled ahead of time"
_DOORS = {
    "compile_call": ("compile_wrapper", "_fn"),
    "aot_call": ("__call__",),
    "aot_function_call": ("returned_function",),
}
"""The capabilities through which compiled code is entered, and the names of the entry functions."""
_GRAPH = "__compiled_fn_"
_MOST_CALLERS = 60


class Call(NamedTuple):
    """One call of compiled code that the program makes itself."""

    way: str
    """``JIT`` or ``AHEAD``."""
    name: str
    """The display name: ``Net.forward``."""
    plain: Any
    """The function that was compiled."""
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    again: Callable[..., Any]
    """The compiled function, to call it again."""
    callers: tuple[Place, ...]
    """The lines that led to the call, innermost first."""
    ran: dict[CodeType, None]
    """Dynamo's code that ran for the call, in order; filled while the call runs."""
    context: Any = None
    """torch's own record of how the function was compiled; None if there is none."""

    @property
    def graphs(self) -> frozenset[str]:
        """Return torch's names of the graphs that were called."""
        return frozenset(n for code in self.ran for n in code.co_names if n.startswith(_GRAPH))

    @property
    def is_compiled(self) -> bool:
        """Return true if compiled code ran; code that Dynamo skips runs eager."""
        return self.way == AHEAD or bool(self.ran)

    @property
    def filters_guards(self) -> bool:
        """Return true if the program makes torch drop guards (``guard_filter_fn``)."""
        hooks = getattr(self.context, "_hooks", None)
        return getattr(hooks, "guard_filter_fn", None) is not None

    @property
    def backend(self) -> Any | None:
        """Return the backend that compiles its graphs; None if unknown."""
        ask = PROBE.get("innermost_backend")
        callback = getattr(self.context, "callback", None)
        return None if ask is None or not callable(callback) else ask(callback)


Leave = Callable[[Any], None]
"""Called with a call's return value."""
Enter = Callable[[Call], Optional[Leave]]


@contextlib.contextmanager
def watched(enter: Enter) -> Iterator[None]:
    """Call ``enter`` before each outermost call of compiled code in this thread.

    The callback that it returns gets the call's result; it is not called if the call raises.
    """
    watch, before = _Watch(_codes(), enter), sys.getprofile()
    sys.setprofile(watch.see)
    try:
        yield
    finally:
        sys.setprofile(before)


class _Watch:
    def __init__(self, doors: Mapping[CodeType, str], enter: Enter) -> None:
        self._doors, self._enter = doors, enter
        self._open: FrameType | None = None
        self._call: Call | None = None
        self._leave: Leave | None = None
        self._with_graphs: dict[CodeType, bool] = {}
        never_compile(_Watch.see.__code__)

    def see(self, frame: FrameType, event: str, result: Any) -> None:
        code = frame.f_code
        if event == "call":
            if self._open is not None:
                # Dynamo checks every frame that starts during the call, so no frame of ours may
                # start.
                known = self._with_graphs.get(code)
                if known is None:
                    known = self._with_graphs[code] = _GRAPH in str(code.co_names)
                if known and self._call is not None:
                    self._call.ran[code] = None
            elif code in self._doors:
                self._open = frame
                self._call = _described(frame, self._doors[code])
                self._leave = self._unseen(self._enter, self._call)
        elif event == "return" and frame is self._open:
            leave, self._open, self._call, self._leave = self._leave, None, None, None
            if leave is not None and _returns(frame):
                self._unseen(leave, result)

    def _unseen(self, function: Callable[[Any], Any], value: Any) -> Any:
        """Run a callback with profiling off, so that it may compile and trace as usual."""
        sys.setprofile(None)
        try:
            return sys.call_tracing(function, (value,))
        finally:
            sys.setprofile(self.see)


def _returns(frame: FrameType) -> bool:
    """Return true if a frame that ends returns rather than raises."""
    import dis

    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN")


def _codes() -> dict[CodeType, str]:
    """Return the code of the functions that enter compiled code, with their names in the table."""
    found = {}
    for capability, names in _DOORS.items():
        door = PROBE.get(capability) if PROBE.has(capability) else None
        outer = getattr(door, "__code__", None)
        if not isinstance(outer, CodeType):
            continue
        inner = [const for const in outer.co_consts if isinstance(const, CodeType)]
        found.update({code: capability for code in (outer, *inner) if code.co_name in names})
    return found


def _described(frame: FrameType, door: str) -> Call:
    held = frame.f_locals
    args, kwargs = tuple(held.get("args", ())), dict(held.get("kwargs", {}))
    callers = tuple(_callers(frame))
    ran: dict[CodeType, None] = {}
    if door == "aot_call":
        again, plain = held["self"], traceable(held["self"])
        return Call(AHEAD, _name(plain), plain, args, kwargs, again, callers, ran)
    plain = _wrapped(held["fn"])
    if door == "aot_function_call":
        found = _function_of(frame) or held["fn"]
        return Call(AHEAD, _name(plain), plain, args, kwargs, found, callers, ran)
    again, context = _copy_of(frame), held["self"]
    again._torchdynamo_orig_callable = plain  # type: ignore[attr-defined]
    again.get_compiler_config = lambda: context.compiler_config  # type: ignore[attr-defined]
    return Call(JIT, _name(plain), plain, args, kwargs, again, callers, ran, context)


def _wrapped(function: Any) -> Any:
    """Return what the program passed to torch, without torch's own wrappers."""
    if isinstance(function, FunctionType) and function.__code__.co_name == "inner":
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        function = cells["fn"].cell_contents if "fn" in cells else function
    owner = getattr(function, "__self__", None)
    is_call = isinstance(function, MethodType) and function.__name__ in _CALLS_OF_MODULES
    return owner if is_call and callable(owner) else function


_CALLS_OF_MODULES = ("__call__", "_call_impl", "_wrapped_call_impl")


def _name(plain: Any) -> str:
    name = getattr(plain, "__qualname__", "").replace("<locals>.", "")
    return name or f"{name_of_callable(plain)}.forward"


def _copy_of(frame: FrameType) -> FunctionType:
    """Return a function with the same code and variables as the one in a frame."""
    code, held = frame.f_code, frame.f_locals
    cells = tuple(CellType(held[name]) for name in code.co_freevars)
    return FunctionType(code, frame.f_globals, code.co_name, None, cells)


def _function_of(frame: FrameType) -> FunctionType | None:
    """Return the function in a frame if it has a closure, since its variables can be written."""
    held = frame.f_locals
    for function in gc.get_referrers(frame.f_code):
        if isinstance(function, FunctionType) and function.__closure__:
            pairs = zip(function.__code__.co_freevars, function.__closure__)
            if all(_content(cell) is held.get(name) for name, cell in pairs):
                return function
    return None


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # an empty cell
        return None


def _callers(frame: FrameType) -> Iterator[Place]:
    outer = frame.f_back
    for _ in range(_MOST_CALLERS):
        if outer is None:
            return
        yield Place(outer.f_code.co_filename, outer.f_lineno, outer.f_code.co_name)
        outer = outer.f_back


# -- side effects to avoid in a second call --------------------------------------------------------


@contextlib.contextmanager
def versions_kept(tensors: Iterable[Any]) -> Iterator[None]:
    """Hide writes to tensors from autograd inside the block, where they are written and restored.

    A graph of the program may have saved one of them for its backward pass.
    """
    keep = PROBE.get("version_counters")
    with contextlib.ExitStack() as stack:
        for tensor in tensors:
            if keep is not None and not tensor.is_inference():
                stack.enter_context(keep(tensor))
        yield


@contextlib.contextmanager
def without_caches() -> Iterator[None]:
    """Disable the caches on disk for everything that compiles inside the block."""
    settings = {
        "inductor_patch": {"force_disable_caches": True},
        "functorch_patch": {"enable_autograd_cache": False},
    }
    with contextlib.ExitStack() as stack:
        for name, values in settings.items():
            patch = PROBE.get(name)
            if patch is not None:
                with contextlib.suppress(Exception):  # releases have different settings
                    stack.enter_context(patch(**values))
        yield
