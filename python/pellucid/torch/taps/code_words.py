# SPDX-License-Identifier: Apache-2.0
"""Checks of torch's code objects: the names, constants and locals of the code at a path.

The checks of :mod:`~pellucid.torch.taps.shapes` use these; none needs a compile.
"""

from __future__ import annotations

import inspect
from types import CodeType, ModuleType
from typing import Any, Iterable, Iterator, Mapping, Tuple

from .compat import resolve


def code_objects(place: Any) -> Iterator[CodeType]:
    """Yield the code of a function, a class's methods, or a module's functions, nested too.

    >>> [code.co_name for code in code_objects(lambda: [lambda: 1])]
    ['<lambda>', '<lambda>']
    """
    pending: list[CodeType] = []
    if isinstance(place, ModuleType):
        for value in list(vars(place).values()):
            if getattr(value, "__module__", None) == place.__name__:
                yield from code_objects(value)
    elif isinstance(place, type):
        for value in list(vars(place).values()):
            value = getattr(value, "__func__", value)
            if isinstance(inspect.unwrap(value), type):
                continue
            yield from code_objects(value)
    else:
        code = getattr(inspect.unwrap(place), "__code__", None) if callable(place) else None
        pending = [code] if isinstance(code, CodeType) else []
    while pending:
        code = pending.pop()
        yield code
        pending.extend(const for const in code.co_consts if isinstance(const, CodeType))


def mentions(code: CodeType, word: str) -> bool:
    """Return true if a word is a name or a constant of the code."""
    if word in code.co_consts or word in code.co_names or word in locals_of(code):
        return True
    # Names of keyword arguments, and sets and tuples of strings, are constants inside a tuple.
    return any(isinstance(c, (tuple, frozenset)) and word in c for c in code.co_consts)


def locals_of(code: CodeType) -> Tuple[str, ...]:
    """Return all variables of a function, in cells or not."""
    return code.co_varnames + code.co_cellvars + code.co_freevars


def says(path: str, *words: str) -> bool | None:
    """Return true if the code at a path has each word as a name or constant; None if unknown."""
    place = resolve(path)
    if place is None:
        return None
    codes = list(code_objects(place))
    if not codes:
        return None
    return all(any(mentions(code, word) for code in codes) for word in words)


def has(path: str, *attributes: str) -> bool | None:
    """Return true if the object at a path has each attribute or field; None if unknown."""
    place = resolve(path)
    if place is None:
        return None
    known = {*dir(place), *getattr(place, "__dataclass_fields__", {})}
    return known.issuperset(attributes)


def _functions(module: ModuleType) -> Iterator[Any]:
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) == module.__name__:
            yield value


def _nests_constant(code: CodeType, word: str) -> bool:
    pending = [code]
    while pending:
        code = pending.pop()
        if word in code.co_consts:
            return True
        pending.extend(const for const in code.co_consts if isinstance(const, CodeType))
    return False


def has_local_where_named(paths: Iterable[str], local_of: Mapping[str, str]) -> bool | None:
    """Return true if, for each word, a function that contains it also has the given local."""
    modules = [module for module in (resolve(f"{path}:") for path in paths) if module]
    outer = [
        code
        for module in modules
        for function in _functions(module)
        for code in code_objects(function)
    ]
    named = {word: [code for code in outer if _nests_constant(code, word)] for word in local_of}
    if not all(named.values()):
        return None  # the word is somewhere else
    return all(
        any(local in locals_of(code) for code in named[word]) for word, local in local_of.items()
    )


def both(*answers: bool | None) -> bool | None:
    """Combine several checks: False if one is False, None if one is None."""
    return False if False in answers else None if None in answers else True


def tells_default(settings: Any, name: str) -> bool:
    """Return true if a module of settings reports the default of a setting.

    Older releases only list the settings that are not at their defaults.
    """
    if hasattr(settings, "_default"):
        return True
    table = getattr(settings, "_config", None)
    return isinstance(table, dict) and (name not in table or hasattr(table[name], "default"))
