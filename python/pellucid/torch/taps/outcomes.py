# SPDX-License-Identifier: Apache-2.0
"""Outcomes of compiled calls that torch's trace does not report.

An error that ends a compile may or may not reach the program; torch may skip a frame; a stance may
run everything uncompiled; a module's hooks may be added too late.  Each is read where torch decides
it.
"""

from __future__ import annotations

import gc
import sys
import weakref
from dataclasses import dataclass
from types import CodeType, FrameType, MethodType
from typing import AbstractSet, Any, Callable, Iterator, Mapping

from pellucid.dump.model.events import Place
from pellucid.dump.model.failures import is_own

from .graph_hooks import code_being_compiled
from .hooks import PROBE, Remove, folder, invisible, never_compile, no_op
from .shapes import COMPILER, HOOK_TABLES, OUTCOME_LOCALS, SHAPES

_ONE_GRAPH, _BOX, _LOCALS, _CLOSURE = OUTCOME_LOCALS
_SOFT = ("Unsupported", "UserError")
"""The errors for which torch skips a frame, unless one graph is required."""
_ALWAYS = ("UncapturedHigherOrderOpError", "ResumePrologueTracingError")


@dataclass(frozen=True)
class Failure:
    """The error of a compile that has just failed."""

    raised: bool
    """Whether the program sees the error."""
    text: str
    """The error's text with torch's additions, such as the user's stack."""
    code: CodeType | None
    """The code that was being compiled."""
    inside: str = ""
    """The file and line of torch's own code that raised the error; empty if other code did."""


def failure(kind: str) -> Failure:
    """Return the error of class ``kind`` that ends this thread's compile."""
    error = sys.exc_info()[1]
    names = {cls.__name__ for cls in type(error).__mro__}
    text = ""
    if error is not None and kind.rpartition(".")[2] in names:
        text = str(error)
    else:
        names = {kind.rpartition(".")[2]}
    frame = _compiling()
    one_graph = box = None
    if frame is not None:
        one_graph, box = frame.f_locals.get(_ONE_GRAPH), frame.f_locals.get(_BOX)
        if not isinstance(one_graph, bool):
            SHAPES.missed("outcome of a compile")
    strict = bool(one_graph) or bool(getattr(box, "error_on_graph_break", False))
    raised = is_raised(names, strict, bool(_setting("suppress_errors")))
    return Failure(raised, text, code_being_compiled(), "" if not text else _torchs_line(error))


def _torchs_line(error: BaseException | None) -> str:
    """Return the line of torch's code that raised an error, relative to its folder; else empty."""
    inner = getattr(error, "inner_exception", None)  # raised by a backend
    step = getattr(inner if isinstance(inner, BaseException) else error, "__traceback__", None)
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None or not step.tb_frame.f_code.co_filename.startswith(folder()):
        return ""
    file = step.tb_frame.f_code.co_filename[len(folder()) :].replace("\\", "/")
    return f"torch/{file}:{step.tb_lineno}"


def is_raised(names: AbstractSet[str], strict: bool, suppressed: bool) -> bool:
    """Return true if the program sees an error whose class and bases have these names.

    Args:
        names: the names without modules.
        strict: whether torch was told to produce a single graph or fail.
        suppressed: whether torch was told to suppress its own errors.
    """
    return strict or not (is_soft(names) or suppressed) or not names.isdisjoint(_ALWAYS)


def is_soft(names: AbstractSet[str]) -> bool:
    """Return true if torch skips a frame for such an error by default."""
    return not names.isdisjoint(_SOFT)


def _compiling() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    for _ in range(60):
        if frame is None or frame.f_code.co_name == COMPILER:
            return frame
        frame = frame.f_back
    return None


def _setting(name: str) -> Any:
    settings = getattr(PROBE.get("dynamo_settings"), "__self__", None)
    return getattr(settings, name, None)


# -- skipped frames and stances --------------------------------------------------------------------


def add_passed_by(receive: Callable[[Place, str, bool], None]) -> Remove:
    """Call ``receive`` with each frame that torch skips: place, reason, if it is a generator."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def add_skip_reason(*args: Any, **kwargs: Any) -> Any:
            reason, frame = (*args, *kwargs.values())[:2]
            code = getattr(frame, "f_code", None)
            if isinstance(code, CodeType):
                place = Place(code.co_filename, code.co_firstlineno, code.co_name)
                receive(place, str(reason), bool(code.co_flags & 0x20))
            return original(*args, **kwargs)

        return add_skip_reason

    return _replace("skip_reasons", wrap)


def add_stances(
    receive: Callable[[str, Place | None], None],
    failed: Callable[[Place, tuple[str, ...]], None],
) -> Remove:
    """Call ``receive`` with stance and line when a compiled function is called under a stance.

    ``failed`` is called with the frame and the failed guards if a stance makes that an error.
    """

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        module = sys.modules[original.__module__]

        def _callback_from_stance(*args: Any, **kwargs: Any) -> Any:
            stance = getattr(getattr(module, "_stance", None), "stance", "default")
            if stance != "default":
                receive(str(stance), caller())
            return original(*args, **kwargs)

        return _callback_from_stance

    def wrap_reasons(original: Callable[..., Any]) -> Callable[..., Any]:
        def get_and_maybe_log_recompilation_reasons(*args: Any, **kwargs: Any) -> Any:
            reasons = original(*args, **kwargs)
            code = getattr(args[1], "f_code", None) if len(args) > 1 else None
            if kwargs.get("skip_logging") and isinstance(code, CodeType):
                place = Place(code.co_filename, code.co_firstlineno, code.co_name)
                failed(place, tuple(map(str, reasons or ())))
            return reasons

        return get_and_maybe_log_recompilation_reasons

    removes = [
        _replace("callback_of_stance", wrap),
        _replace("recompiles_under_stance", wrap_reasons),
    ]

    def remove() -> None:
        for undo in removes:
            undo()

    return remove


def add_reset(receive: Callable[[], None]) -> Remove:
    """Call ``receive`` before torch resets its caches."""
    unseen = invisible(receive)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def reset_code_caches(*args: Any, **kwargs: Any) -> Any:
            unseen()
            return original(*args, **kwargs)

        return reset_code_caches

    return _replace("reset", wrap)


def caller() -> Place | None:
    """Return the user line that is executing."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(60):
        if frame is None:
            return None
        code = frame.f_code
        if is_own(code.co_filename):
            return Place(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


def _replace(name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Remove:
    """Replace one of torch's functions, which its own module calls by name, by a wrapper."""
    place = PROBE.place(name)
    if place is None:
        return no_op
    module, attribute = place
    original = getattr(module, attribute)
    wrapper = wrap(original)
    never_compile(wrapper.__code__)
    wrapper.__wrapped__ = original  # type: ignore[attr-defined]
    setattr(module, attribute, wrapper)

    def remove() -> None:
        if getattr(module, attribute, None) is wrapper:
            setattr(module, attribute, original)

    return remove


# -- hooks of modules ------------------------------------------------------------------------------

Hooks = Mapping[str, Mapping[str, "frozenset[int]"]]


@dataclass(frozen=True)
class Watched:
    """A module at compile time: the hooks of each of its submodules."""

    module: weakref.ref[Any]
    hooks: Hooks


def watch_modules() -> list[Watched]:
    """Return the modules that are being compiled, found in the frame's values."""
    frame = _compiling()
    if frame is None or not _setting("skip_nnmodule_hook_guards"):
        return []
    values: list[Any] = []
    local = frame.f_locals.get(_LOCALS)
    if isinstance(local, dict):
        values += local.values()
    for cell in frame.f_locals.get(_CLOSURE) or ():
        try:
            values.append(cell.cell_contents)
        except (AttributeError, ValueError):
            continue
    base = sys.modules["torch"].nn.Module
    found: dict[int, Any] = {}
    for value in values:
        owner = value.__self__ if isinstance(value, MethodType) else value
        if isinstance(owner, base):
            found[id(owner)] = owner
            if HOOK_TABLES[0] not in owner.__dict__:
                SHAPES.missed("hooks of a module")
    return [Watched(weakref.ref(module), _hooks(module)) for module in found.values()]


def late_hooks(watched: Watched) -> Iterator[tuple[str, str, Place | None]]:
    """Yield each hook added since: the module, the table, and the hook's place."""
    module = watched.module()
    if module is None:
        return
    for path, part in _modules(module):
        for table in HOOK_TABLES:
            before = watched.hooks.get(path, {}).get(table, frozenset())
            for number, hook in dict(part.__dict__.get(table) or {}).items():
                if number not in before:
                    code = getattr(getattr(hook, "func", hook), "__code__", None)
                    place = None
                    if isinstance(code, CodeType):
                        place = Place(code.co_filename, code.co_firstlineno, code.co_name)
                    yield f"{path or 'the module'} ({type(part).__name__})", table, place


def _hooks(module: Any) -> Hooks:
    found: dict[str, dict[str, frozenset[int]]] = {}
    for path, part in _modules(module):
        for table in HOOK_TABLES:
            hooks = part.__dict__.get(table)
            if hooks:
                found.setdefault(path, {})[table] = frozenset(hooks)
    return found


def compiled_modules() -> Iterator[tuple[str, Place | None]]:
    """Yield the class and the place of ``forward`` of each module that torch.compile wrapped."""
    wrapper = PROBE.get("compiled_module")
    for value in gc.get_objects() if isinstance(wrapper, type) else ():
        if type(value) is wrapper:
            module = dict(value.__dict__.get("_modules") or {}).get("_orig_mod")
            code = getattr(getattr(type(module), "forward", None), "__code__", None)
            place = None
            if isinstance(code, CodeType):
                if code.co_filename.startswith("<"):  # a graph generated by torch.fx
                    continue
                place = Place(code.co_filename, code.co_firstlineno, code.co_name)
            yield type(module).__name__, place


def _modules(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield a module and its submodules with their paths, without calling user code."""
    pending, seen = [("", root)], {id(root)}
    while pending:
        path, module = pending.pop()
        yield path, module
        for name, part in dict(module.__dict__.get("_modules") or {}).items():
            if part is not None and id(part) not in seen:
                seen.add(id(part))
                pending.append((f"{path}.{name}" if path else name, part))


__all__ = [
    "Failure",
    "Watched",
    "add_passed_by",
    "add_reset",
    "add_stances",
    "caller",
    "compiled_modules",
    "failure",
    "is_raised",
    "is_soft",
    "late_hooks",
    "watch_modules",
]
