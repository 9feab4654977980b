# SPDX-License-Identifier: Apache-2.0
"""The values that can be reached from a function: its object, closures, defaults and globals.

Functions and objects of user code are searched completely; of a library's objects, only modules,
optimizers, ordinary containers, ``functools.partial`` objects and bound methods.
"""

from __future__ import annotations

import collections
import dis
import functools
import inspect
import itertools
import re
import sys
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Callable, Collection, Iterator, Mapping, NamedTuple

import torch

from ..capture.sources import is_users
from ..taps import graph_hooks

ABSENT: Any = object()
"""The value of an unbound name."""
PLAIN = (bool, int, float, complex, str, bytes, type(None))
LISTS = (list, collections.deque)
HIDDEN = ("_parameters", "_buffers", "_modules")
"""The dictionaries in which a module stores parameters, buffers and submodules."""
_OF_MODULES = frozenset(vars(torch.nn.Module())) - {"training", *HIDDEN}
_MOST_FUNCTIONS = 500
_STORES = ("STORE_GLOBAL", "STORE_ATTR", "STORE_DEREF")
Read = Callable[[], Any]


class Slot(NamedTuple):
    """A name that user functions can rebind: a global or a closure variable."""

    path: str
    read: Read
    write: Callable[[Any], None]
    """Bind the name; ``ABSENT`` unbinds it."""


# -- functions -------------------------------------------------------------------------------------


def bound(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, tuple[Any, ...], Mapping[str, Any]]:
    """Return the innermost function and its arguments, with ``functools.partial`` unwrapped."""
    function = graph_hooks.uncompiled(function)
    while isinstance(function, functools.partial):
        args, kwargs = (*function.args, *args), {**function.keywords, **kwargs}
        function = graph_hooks.uncompiled(function.func)
    return function, args, kwargs


def functions_of(function: Any) -> list[FunctionType]:
    """Return the user functions that a call may run, judged from names and closures."""
    found: dict[int, FunctionType] = {}
    # Each with the class that defines it as a method.
    pending: list[tuple[Any, Any]] = [(function, None)]
    while pending and len(found) < _MOST_FUNCTIONS:
        value, owner = pending.pop()
        value = graph_hooks.uncompiled(value)
        if isinstance(value, torch.nn.Module):
            own = [type(inner) for inner in value.modules() if _own_class(inner)]
            pending += [(kind.forward, kind) for kind in own]
            continue
        if isinstance(value, functools.partial):
            pending += [(v, None) for v in (value.func, *value.args, *value.keywords.values())]
            continue
        owner = type(value.__self__) if isinstance(value, MethodType) else owner
        value = getattr(value, "__func__", value)
        value = inspect.unwrap(value) if isinstance(value, FunctionType) else value
        if not isinstance(value, FunctionType):
            call = inspect.getattr_static(type(value), "__call__", None)
            if isinstance(call, FunctionType) and _own_class(value):
                pending.append((call, type(value)))
            continue
        if id(value) in found or not is_users(value.__code__.co_filename):
            continue
        found[id(value)] = value
        pending += _called_by(value, owner)
    return list(found.values())


def _called_by(function: FunctionType, owner: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the values of a function's names and variables that may be functions."""
    for name in _names_in(function.__code__):
        yield function.__globals__.get(name), None
        method = inspect.getattr_static(owner, name, None) if owner is not None else None
        if method is not None:
            yield getattr(method, "fget", method), owner
    for _, value in _variables(function):
        if isinstance(value, (FunctionType, MethodType, functools.partial, torch.nn.Module)):
            yield value, None


def _own_class(value: Any) -> bool:
    return _is_own(str(type(value).__module__))


@functools.lru_cache(maxsize=None)
def _is_own(module: str) -> bool:
    """Return true if a module is user code, not a library."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    return module == "__main__" or (isinstance(file, str) and is_users(file))


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names |= _names_in(const)
    return names


def storing_line(code: CodeType, name: str) -> int:
    """Return the line at which code stores into a name or attribute; 0 if it does not."""
    line = 0
    for instruction in dis.get_instructions(code):
        line = _line_of(instruction) or line
        if instruction.opname in _STORES and instruction.argval == name:
            return line
    return 0


def _line_of(instruction: dis.Instruction) -> int:
    """Return the line that an instruction starts; 0 if it is within a line."""
    starts: Any = instruction.starts_line
    return int(getattr(instruction, "line_number", None) or 0) if starts is True else starts or 0


# -- names -----------------------------------------------------------------------------------------


def slots_of(functions: Collection[FunctionType], taken: set[str]) -> list[Slot]:
    """Return the closure variables and globals of functions, each with a unique path."""
    slots, seen = [], set()
    for function in functions:
        for name, cell in _cells(function):
            if id(cell) not in seen:
                seen.add(id(cell))
                path = own_path(name, function.__name__, taken)
                slots.append(slot_of_cell(path, cell))
    for scope, name in _globals_of(functions):
        path = own_path(name, str(scope.get("__name__")), taken)
        read = functools.partial(scope.get, name, ABSENT)
        slots.append(Slot(path, read, functools.partial(_write_global, scope, name)))
    return slots


def slots_in(path: str, function: FunctionType) -> list[Slot]:
    """Return the closure variables of the function at a path."""
    return [slot_of_cell(f"{path}.{name}", cell) for name, cell in _cells(function)]


def slot_of_cell(path: str, cell: Any) -> Slot:
    """Return the slot of a closure cell."""
    return Slot(path, functools.partial(_content, cell), functools.partial(_write_cell, cell))


def own_path(name: str, source: str, taken: set[str]) -> str:
    """Return a unique path for a name of some source, and reserve it."""
    longer = f"{name} of {source}"
    numbered = (f"{longer} ({number})" for number in itertools.count(2))
    path = next(path for path in itertools.chain([name, longer], numbered) if path not in taken)
    taken.add(path)
    return path


def stored_name(path: str) -> str:
    """Return the name at the end of a path, as it appears in code."""
    return re.split(r"[.\[]", path.partition(" of ")[0])[-1]


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    return zip(function.__code__.co_freevars, function.__closure__ or ())


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _write_cell(cell: Any, value: Any) -> None:
    if value is ABSENT:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _write_global(scope: dict[str, Any], name: str, value: Any) -> None:
    if value is ABSENT:
        del scope[name]
    else:
        scope[name] = value


def _globals_of(functions: Collection[FunctionType]) -> list[tuple[dict[str, Any], str]]:
    """Return the globals in the code that are data, not functions, classes or modules."""
    found: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
    code_like = (type, ModuleType, FunctionType, MethodType)
    for inner in functions:
        scope = inner.__globals__
        for name in sorted(_names_in(inner.__code__)):
            stored = name in scope or _stores(inner.__code__, name)
            if stored and not isinstance(scope.get(name), code_like) and not name.startswith("__"):
                found[id(scope), name] = scope, name
    return list(found.values())


def _stores(code: CodeType, name: str) -> bool:
    return any(i.opname == "STORE_GLOBAL" and i.argval == name for i in dis.get_instructions(code))


# -- values ----------------------------------------------------------------------------------------


def owner_of(function: Any) -> Any:
    """Return the object whose method or call a function is; ABSENT if there is none."""
    owner = function if isinstance(function, torch.nn.Module) else ABSENT
    owner = getattr(function, "__self__", owner)
    if owner is ABSENT and not isinstance(function, FunctionType) and callable(function):
        owner = function
    return owner


def arguments(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a call by parameter name."""
    names: list[str] = []
    try:
        target = function.forward if isinstance(function, torch.nn.Module) else function
        kinds = inspect.signature(target).parameters.values()
        names = [p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        pass
    for at, value in enumerate(args):
        yield names[at] if at < len(names) else f"argument {at}", value
    yield from kwargs.items()


def defaults_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the defaults of a function by parameter name."""
    code, given = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
    yield from zip(names, given)
    yield from (function.__kwdefaults__ or {}).items()


def _variables(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in _cells(function):
        yield name, _content(cell)
    yield from defaults_of(function)


def inside(value: Any) -> list[tuple[str, Any]] | None:
    """Return the values inside a value, each with its path step; None if it is not searched."""
    if isinstance(value, (torch.Tensor, *PLAIN)):
        return None
    if isinstance(value, torch.Generator):
        return []
    if isinstance(value, dict):
        return [(f"[{_key(key, at)}]", item) for at, (key, item) in enumerate(value.items())]
    if isinstance(value, (*LISTS, tuple)):
        return [(f"[{at}]", item) for at, item in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        plain = sorted(repr(item) for item in value if isinstance(item, PLAIN))
        return [(f"{{{item}}}", True) for item in plain]
    if isinstance(value, torch.nn.Module):
        return list(_of_module(value))
    if isinstance(value, FunctionType):
        own = is_users(value.__code__.co_filename)
        return [(f".{name}", item) for name, item in _variables(value)] if own else None
    if isinstance(value, (MethodType, BuiltinMethodType)):
        return [(".__self__", value.__self__)]
    if isinstance(value, functools.partial):
        return [(f".{name}", getattr(value, name)) for name in ("func", "args", "keywords")]
    if isinstance(value, (type, ModuleType, CodeType)):
        return None
    return _attributes(value)


def _attributes(value: Any) -> list[tuple[str, Any]] | None:
    held = getattr(value, "__dict__", None)
    module = str(type(value).__module__)
    if not isinstance(held, dict) or not (_is_own(module) or module.startswith("torch.optim")):
        return None
    return [(f".{name}", item) for name, item in held.items() if isinstance(name, str)]


def _of_module(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for name, item in vars(module).items():
        if name in HIDDEN:
            yield from ((f".{key}", inner) for key, inner in item.items())
        elif name not in _OF_MODULES and not name.startswith(("_dynamo", "_compiled_call")):
            yield f".{name}", item


def _key(key: Any, at: int) -> str:
    return repr(key) if isinstance(key, PLAIN) else f"key {at}"
