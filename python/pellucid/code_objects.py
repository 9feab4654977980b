# SPDX-License-Identifier: Apache-2.0
"""Lookup of a live object's code object."""

import importlib.util
import inspect
import sys
import types
from typing import Any, Iterator, List


def code_of(obj: Any) -> types.CodeType:
    """Return the code object that an object runs. Raises TypeError if it has none."""
    if isinstance(obj, types.CodeType):
        return obj
    if isinstance(obj, types.ModuleType):
        return _code_of_module(obj)
    if inspect.isclass(obj):
        return _code_of_class(obj)
    for attribute in ("__code__", "gi_code", "cr_code", "ag_code"):
        code = getattr(obj, attribute, None)
        if isinstance(code, types.CodeType):
            return code
    # A bound method, a partial, a property, a callable object: follow them to the function.
    for attribute in ("__func__", "func", "fget", "__wrapped__"):
        inner = getattr(obj, attribute, None)
        if inner is not None and inner is not obj:
            return code_of(inner)
    call = getattr(type(obj), "__call__", None)  # noqa: B004
    if isinstance(call, types.FunctionType):
        return call.__code__
    raise TypeError(f"{type(obj).__name__} object has no Python code")


def _code_of_module(module: types.ModuleType) -> types.CodeType:
    spec = getattr(module, "__spec__", None) or importlib.util.find_spec(module.__name__)
    get_code = getattr(spec and spec.loader, "get_code", None)
    code = get_code(spec.name) if spec and get_code else None
    if not isinstance(code, types.CodeType):
        raise TypeError(f"module {module.__name__} has no Python code")
    return code


def _code_of_class(cls: type) -> types.CodeType:
    module = sys.modules.get(cls.__module__)
    if module is None:
        raise TypeError(f"the module of class {cls.__qualname__} is not loaded")
    path = [part for part in cls.__qualname__.split(".") if part != "<locals>"]
    for code in _nested(_code_of_module(module), path):
        return code
    raise TypeError(f"module {cls.__module__} has no code of class {cls.__qualname__}")


def _nested(code: types.CodeType, path: "List[str]") -> Iterator[types.CodeType]:
    if not path:
        yield code
        return
    for const in code.co_consts:
        if isinstance(const, types.CodeType) and const.co_name == path[0]:
            yield from _nested(const, path[1:])
