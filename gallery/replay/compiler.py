# SPDX-License-Identifier: Apache-2.0
"""The stand-in for the compiler: captured functions go to their files."""

import ast
import builtins
import contextlib
import gc
import inspect
import re
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional, Set

import torch
from torch._dynamo import external_utils

from . import optimizers
from .files import CannotReplay, Files, FullCode, with_closure
from .graphs import Graphs

_TRAMPOLINE = """\
def outer({free}):
    def {name}(*args, **kwargs):
        return __replay__({function}, {cells}, globals(), args, kwargs)
"""
_NUMBERED = re.compile(r"\w+_\d+")
_DYNAMOS = ("guards_", "kept_", "__transformed_code_")


class Compiler:
    """What stands in for torch.compile and for its hook in frame evaluation."""

    def __init__(self, files: Files, left: Dict[str, Any], recorded: Dict[str, int]) -> None:
        """Take a capture.

        Args:
            files: its files.
            left: the source of resume functions that torch left as they are.
            recorded: how often each version was called when it was captured.
        """
        self.files = files
        self.graphs = Graphs(files.folder)
        self.calls: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self._left = left
        self._recorded = recorded
        self._there: Dict[int, Set[str]] = {}
        self._inside = False
        self._originals: Dict[int, types.CodeType] = {}
        self._defaults: Dict[types.CodeType, Any] = {}
        setattr(builtins, "__replay__", self._called)  # noqa: B010  a name that nobody checks

    # -- torch.compile --

    def compile(self, model: Any = None, **options: Any) -> Any:
        """Stand in for torch.compile."""
        if model is None:
            return lambda function: self.compile(function, **options)
        called = model
        self.put_trampolines()  # what it is made of may have been imported since
        if isinstance(model, torch.nn.Module):
            home = str(getattr(type(model).forward, "__module__", ""))
            if home.split(".")[0] == "torch":  # as OptimizedModule does
                called = external_utils.wrap_inline(model)

        def run(*args: Any, **kwargs: Any) -> Any:
            with self._being_inside(True):
                return called(*args, **kwargs)

        if isinstance(model, torch.nn.Module):
            return _Compiled(model, run)
        run.__name__ = getattr(model, "__name__", "run")
        return run

    @contextlib.contextmanager
    def _being_inside(self, whether: bool) -> Iterator[None]:
        before, self._inside = self._inside, whether
        try:
            yield
        finally:
            self._inside = before

    # -- frame evaluation --

    def put_trampolines(self) -> None:
        """Let every captured function that is there come here when it is called."""
        names = {place[0] for place in self.files.functions}
        done: Dict[types.CodeType, types.CodeType] = {}
        for found in gc.get_objects():
            if type(found) is types.FunctionType:
                code = found.__code__
                if Path(code.co_filename).name in names:
                    replaced = self._replaced(code, done)
                    if replaced is not code:
                        self._defaults[code] = found.__defaults__, found.__kwdefaults__
                        found.__code__ = replaced

    def _replaced(
        self, code: types.CodeType, done: Dict[types.CodeType, types.CodeType]
    ) -> types.CodeType:
        if code not in done:
            constants = tuple(
                self._replaced(constant, done) if isinstance(constant, types.CodeType) else constant
                for constant in code.co_consts
            )
            changed = code
            if any(new is not old for new, old in zip(constants, code.co_consts)):
                changed = code.replace(co_consts=constants)
            function = None if _is_trampoline(code) else self.files.function(code)
            if function is not None:
                self._originals[function] = changed
                changed = _trampoline(code, function)
            done[code] = done[changed] = changed
        return done[code]

    def _called(self, function: int, cells: Any, scope: Any, args: Any, kwargs: Any) -> Any:
        """Run a captured function: the version whose guards hold, or what the user wrote."""
        original = self._originals[function]
        closure = dict(zip(sorted(original.co_freevars), cells or ()))
        plain = self._function(original, scope, closure, original)
        if not self._inside:
            return plain(*args, **kwargs)
        return self._dispatch(function, plain, closure, args, kwargs)

    def _function(
        self, code: types.CodeType, scope: Any, closure: Dict[str, Any], original: types.CodeType
    ) -> Any:
        lacking = [name for name in code.co_freevars if name not in closure]
        if lacking:
            raise CannotReplay(f"{original.co_name} has closure variables: {', '.join(lacking)}")
        cells = tuple(closure[name] for name in code.co_freevars)
        made = types.FunctionType(code, scope, code.co_name, None, cells)
        made.__defaults__, made.__kwdefaults__ = self._defaults.get(original, (None, None))
        return made

    def _dispatch(self, function: int, plain: Any, closure: Any, args: Any, kwargs: Any) -> Any:
        """Do what torch's frame evaluation does, by the file."""
        full = self.files.full_code(function)
        scope = plain.__globals__
        self._install(full, scope)
        bound = inspect.signature(plain).bind(*args, **kwargs)
        bound.apply_defaults()
        local = dict(bound.arguments)
        for name, cell in closure.items():
            with contextlib.suppress(ValueError):  # an empty cell
                local[name] = cell.cell_contents
        optimizers.refer(full.lacking, scope, local)
        slug = self._version(function, full, local, scope, plain.__code__)
        if slug:
            self.calls[slug] += 1
            self.graphs.shared.update(optimizers.constants(local))
            code = full.transformed(slug, closure)
            return self._function(code, scope, closure, plain.__code__)(*args, **kwargs)
        if plain.__code__.co_filename.startswith(str(self.files.folder)):
            raise CannotReplay(f"no version of {full.name} fits, and the rest is not in a file")
        self.calls["eager"] += 1
        refused = full.refused(self.files.order[function][0], local, scope)
        self.refusals[f"{plain.__code__.co_name}: {refused}"] += 1
        return plain(*args, **kwargs)

    def _version(
        self, function: int, full: FullCode, local: Any, scope: Any, code: types.CodeType
    ) -> str:
        """The version whose guards hold; empty where there is none.

        A version is there from the call for which torch compiled it: when none of the earlier fits.
        Some guards only torch can tell whole (how many keys a dict has), so that one which has been
        called as often as when it was recorded gives way to a later one.
        """
        order, there = self.files.order[function], self._there.setdefault(function, set())
        known = [slug for slug in order if slug in there]
        done = [slug for slug in known if self.calls[slug] == self._recorded.get(slug)]
        for slug in known:
            if slug not in done and full.holds(slug, local, scope):
                return slug
        optimizers.make_state(code, local)
        later = sorted(set(order) - there, key=lambda slug: int(slug.rpartition("_")[2]))
        for slug in [*later, *done]:
            if full.holds(slug, local, scope):
                there.add(slug)
                return slug
        return ""

    # -- what Dynamo's code calls --

    def _install(self, full: FullCode, scope: Dict[str, Any]) -> None:
        """Put the names that Dynamo adds to a function's globals into them."""
        installed = scope.setdefault("__replayed__", set())
        if full.name in installed:
            return
        installed.add(full.name)
        for name, value in list(full.names.items()):
            if name in full.siblings:
                kind, file = full.siblings[name]
                made = self._graph(file) if kind == "graph" else self._resumed(file, scope)
                scope.setdefault(name, made)
            elif not name.startswith(_DYNAMOS):
                scope.setdefault(name, value)
        for name in full.lacking - set(scope):
            if name in self._left:
                scope[name] = self._left_alone(name, scope)
            elif name in self.files.constants:
                scope[name] = self.files.constants[name]
            elif _NUMBERED.fullmatch(name):  # a module that Dynamo has under a name of its own
                base = name.rpartition("_")[0]
                if base in sys.modules:
                    scope[name] = sys.modules[base]

    def _graph(self, file: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            with self._being_inside(False):
                return self.graphs.call(file, list(args))

        return call

    def _resumed(self, file: str, scope: Dict[str, Any]) -> Callable[..., Any]:
        """A function that resumes after a graph break."""

        def call(*args: Any, **kwargs: Any) -> Any:
            full = self.files.full_code_named(file)
            if not full.slugs:
                raise CannotReplay(f"{file} has no version")
            function = self.files.number_of(full.slugs[0])
            # Its own source is not Python that anyone wrote: its arguments are those of a version.
            plain = types.FunctionType(full.transformed(full.slugs[0]), scope)
            return self._dispatch(function, plain, {}, args, kwargs)

        return call

    def _left_alone(self, name: str, scope: Dict[str, Any]) -> Any:
        """A resume function that torch left as it is: its bytecode, decompiled.

        With closure variables it is made when these are there, as in torch.
        """
        source, free = self._left[name]["source"], self._left[name]["free"]
        body = ast.parse(source).body
        found = next(node for node in body if isinstance(node, ast.FunctionDef))
        code = with_closure(found, free, f"<{name}>")

        def make(cells: Any) -> Any:
            closure = dict(zip(free, cells))
            ordered = tuple(closure[variable] for variable in code.co_freevars)
            return types.FunctionType(code, scope, found.name, None, ordered)

        return make if free else make(())


def _trampoline(code: types.CodeType, function: int) -> types.CodeType:
    """Code that takes anything, with the closure variables of other code."""
    free = ", ".join(code.co_freevars)
    cells = f"(lambda: ({free},)).__closure__" if free else "()"
    name = code.co_name if code.co_name.isidentifier() else "function"
    text = _TRAMPOLINE.format(free=free, name=name, function=function, cells=cells)
    module = compile(text, code.co_filename, "exec")
    outer = _inner(module)
    return _inner(outer).replace(co_firstlineno=code.co_firstlineno)


def _inner(code: Optional[types.CodeType]) -> types.CodeType:
    return next(c for c in (code.co_consts if code else ()) if isinstance(c, types.CodeType))


def _is_trampoline(code: types.CodeType) -> bool:
    return "__replay__" in code.co_names


class _Compiled(torch.nn.Module):
    """What torch.compile makes of a module."""

    def __init__(self, module: torch.nn.Module, run: Callable[..., Any]) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["_run"] = run

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._modules["_orig_mod"], name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_run"](*args, **kwargs)
