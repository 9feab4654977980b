# SPDX-License-Identifier: Apache-2.0
"""The function that another one wraps: ``functools.wraps`` records it, but not in the code."""

from __future__ import annotations

import gc
from types import CodeType, FunctionType
from typing import Any, Mapping

_DEEPEST = 8


def wrapped_function(code: CodeType, cells: Mapping[str, Any]) -> str:
    """Return the name of the function that a function with this code wraps, ``BertModel.forward``.

    Args:
        code: the code that is being compiled; all functions of one decorator share it.
        cells: the values of its closure, which identify the function.

    Returns:
        The name; empty if it wraps none.
    """
    if not any(type(value) is FunctionType for value in cells.values()):
        return ""
    for function in gc.get_referrers(code):
        if type(function) is FunctionType and _has(function, code, cells):
            return _innermost(function)
    return ""


def _has(function: FunctionType, code: CodeType, cells: Mapping[str, Any]) -> bool:
    closure = function.__closure__
    if function.__code__ is not code or closure is None or not hasattr(function, "__wrapped__"):
        return False
    try:
        held = {
            name: cell.cell_contents
            for name, cell in zip(code.co_freevars, closure)
            if name in cells
        }
    except ValueError:  # an empty cell
        return False
    return all(held.get(name) is value for name, value in cells.items())


def _innermost(function: Any) -> str:
    for _ in range(_DEEPEST):
        function = getattr(function, "__wrapped__", function)
    return str(getattr(function, "__qualname__", "")).rpartition("<locals>.")[2]
