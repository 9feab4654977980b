# SPDX-License-Identifier: Apache-2.0
"""The program's compiled functions in a trial: options, arguments, and results."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import types
from typing import Any, Callable, Collection, Mapping, NamedTuple

import torch

from ..taps import hooks
from ..taps.before_frames import before_frames
from .results import Results


class Change(NamedTuple):
    """A statement about the tensors of one function, and the outcome of each run of it."""

    statement: str
    files: Collection[str]
    """The paths of the file with the function, with links resolved."""
    function: str
    runs: list[str]
    """One entry per run: the exception that it raised, or an empty string."""

    def is_of(self, code: types.CodeType) -> bool:
        """Return true if this is the function's code."""
        name = code.co_name == self.function
        return name and os.path.realpath(code.co_filename) in self.files

    def run(self, names: dict[str, Any]) -> None:
        """Run the statement with the function's names."""
        try:
            exec(self.statement, {"torch": torch}, names)
            self.runs.append("")
        except Exception as error:
            self.runs.append(f"{type(error).__name__}: {error}")


def mark_before_compiling(change: Change) -> bool:
    """Run a statement on the locals of a function each time before it is compiled."""

    def before(code: types.CodeType, names: Mapping[str, Any]) -> None:
        if change.is_of(code):
            change.run(dict(names))

    return before_frames(before)


class Compiled:
    """Wraps ``torch.compile`` and the functions that it returns.

    Args:
        results: collects the result of every call.
        options: arguments that are added to each call of ``torch.compile``.
        change: a different value for an argument, applied before each call of a function.
    """

    def __init__(self, results: Results, options: Mapping[str, Any], change: Change | None) -> None:
        self._results, self._options, self._change = results, dict(options), change
        self._compile = torch.compile

    def install(self) -> None:
        """Install the wrappers. Dynamo skips them, and traces through them in nested calls."""

        @functools.wraps(self._compile)
        def compile(model: Any = None, **options: Any) -> Any:
            if model is None:
                return lambda given: compile(given, **options)
            self._look_at(model)
            compiled = self._compile(model, **{**options, **self._options})
            return self._recorded(model, compiled)

        torch.compile = compile
        module = hooks.PROBE.get("compiled_module")
        if module is not None:
            module.__call__ = self._recorded_method(module.__call__)

    def _recorded(self, model: Any, compiled: Any) -> Any:
        if not isinstance(compiled, types.FunctionType):
            return compiled
        name = getattr(model, "__qualname__", type(model).__qualname__)
        inner = inspect.unwrap(model) if callable(model) else model

        def call(*args: Any, **named: Any) -> Any:
            args, named = self._changed(inner, args, named)
            result = compiled(*args, **named)
            self._results.add(name, result)
            return result

        hooks.never_compile(call.__code__)
        functools.update_wrapper(call, compiled)
        if hasattr(compiled, "_torchdynamo_wrapper_id"):
            call._torchdynamo_wrapper_id = id(call)  # type: ignore[attr-defined]
        return call

    def _recorded_method(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: Any, *args: Any, **named: Any) -> Any:
            args, named = self._changed(module._orig_mod.forward, args, named)
            result = method(module, *args, **named)
            self._results.add(type(module._orig_mod).__qualname__, result)
            return result

        hooks.never_compile(call.__code__)
        return call

    def _changed(self, function: Any, args: Any, named: Any) -> tuple[Any, Any]:
        change = self._change
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if change is None or code is None or not change.is_of(code):
            return args, named
        try:
            bound = inspect.signature(function).bind(*args, **named)
        except TypeError:
            return args, named
        bound.apply_defaults()
        change.run(bound.arguments)
        return bound.args, bound.kwargs

    def _look_at(self, model: Any) -> None:
        """Find the modules that a function reaches, since their parameters are results as well."""
        self._results.trains(model)
        self._results.trains(getattr(model, "__self__", None))
        function = getattr(model, "__func__", model)
        code = getattr(function, "__code__", None)
        if code is None:
            return
        scope = getattr(function, "__globals__", {})
        for name in code.co_names:
            self._results.trains(scope.get(name))
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                self._results.trains(cell.cell_contents)
