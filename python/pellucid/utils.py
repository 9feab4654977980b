# SPDX-License-Identifier: Apache-2.0
"""Helpers under depyf's names, for programs written for depyf."""

from __future__ import annotations

import functools
import inspect
import os
from types import CodeType
from typing import Any

from pellucid.decompilation import decompile

__all__ = [
    "collect_all_code_objects",
    "decompile_ensure",
    "get_code_owner",
    "get_function_signature",
    "safe_create_directory",
]


def safe_create_directory(path: str | os.PathLike[str]) -> None:
    """Create a directory and its parents; another process may do the same concurrently.

    Raises OSError if something else exists at that path, or it cannot be created.
    """
    os.makedirs(path, exist_ok=True)


def collect_all_code_objects(code: CodeType) -> list[CodeType]:
    """Return a code object and all code objects nested in it, outer ones first.

    >>> outer = compile("def f(): return lambda: 0", "x", "exec")
    >>> [code.co_name for code in collect_all_code_objects(outer)]
    ['<module>', 'f', '<lambda>']
    """
    found = []
    pending = [code]
    while pending:
        found.append(pending.pop())
        inner = [const for const in found[-1].co_consts if isinstance(const, CodeType)]
        pending.extend(reversed(inner))
    return found


def get_code_owner(fn: Any) -> Any:
    """Return the object with the code that a callable runs, such as a bound method's function.

    >>> get_code_owner(functools.partial(get_code_owner, 1)) is get_code_owner
    True
    """
    while True:
        call = getattr(type(fn), "__call__", None)  # noqa: B004
        if hasattr(fn, "__func__"):
            fn = fn.__func__
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif isinstance(fn, functools.partial):
            fn = fn.func
        elif not hasattr(fn, "__code__") and hasattr(call, "__code__"):
            fn = call
        else:
            return fn


def get_function_signature(code_obj: CodeType, overwite_fn_name: str | None = None) -> str:
    """Return the `def` line of a function with these arguments, without defaults.

    >>> get_function_signature((lambda a, *b, **c: 0).__code__, "f")
    'def f(a, *b, **c):\\n'
    """
    count = code_obj.co_argcount + code_obj.co_kwonlyargcount
    stars = [
        star
        for star, flag in (("*", inspect.CO_VARARGS), ("**", inspect.CO_VARKEYWORDS))
        if code_obj.co_flags & flag
    ]
    names = [name.replace(".", "comp_arg_") for name in code_obj.co_varnames]
    names = [*names[:count], *(star + name for star, name in zip(stars, names[count:]))]
    name = code_obj.co_name if overwite_fn_name is None else overwite_fn_name
    return f"def {name}({', '.join(names)}):\n"


def decompile_ensure(fn: Any, overwite_fn_name: str | None = None) -> str:
    """Return the source of a callable; if there is none, a function that raises the reason."""
    return decompile(fn, name=overwite_fn_name)
