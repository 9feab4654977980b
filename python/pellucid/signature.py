# SPDX-License-Identifier: Apache-2.0
"""Default values: a code object has none, so a live function's are added to the printed `def`."""

import ast
import builtins
import math
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Dict, List, Tuple

_PLAIN = (type(None), bool, int, str, bytes, type(Ellipsis))


def with_defaults(source: str, function: FunctionType) -> Tuple[str, Dict[str, Any]]:
    """Return the source with the function's defaults, and bindings for names used in them.

    A default without a literal is printed as its own name if that name refers to it in the
    function's module, else as `_default_<parameter>`, which the bindings define. Lines do not move.

    >>> def f(a, b=(1, "x"), *, key=None):
    ...     pass
    >>> with_defaults("def f(a, b, *, key):\\n    pass\\n", f)
    ("def f(a, b=(1, 'x'), *, key=None):\\n    pass\\n", {})
    """
    values = function.__defaults__ or ()
    named = function.__kwdefaults__ or {}
    if not (values or named):
        return source, {}
    tree = ast.parse(source)
    defs = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if len(defs) != 1:
        return source, {}
    arguments = defs[0].args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(positional[len(positional) - len(values) :], values))
    # The names in the code object are the keys of __kwdefaults__; the order is the same.
    first = function.__code__.co_argcount
    names = function.__code__.co_varnames[first : first + len(arguments.kwonlyargs)]
    pairs += [(a, named[n]) for a, n in zip(arguments.kwonlyargs, names) if n in named]

    lines = [line.encode("utf-8", "surrogatepass") for line in source.split("\n")]
    bindings: Dict[str, Any] = {}
    for argument, value in sorted(
        pairs, key=lambda p: (p[0].lineno, p[0].col_offset), reverse=True
    ):
        text = _text(value, argument.arg, function, bindings)
        sign = " = " if argument.annotation else "="
        row, column = (argument.end_lineno or 1) - 1, argument.end_col_offset or 0
        lines[row] = lines[row][:column] + (sign + text).encode() + lines[row][column:]
    return b"\n".join(lines).decode("utf-8", "surrogatepass"), bindings


def _text(value: Any, parameter: str, function: FunctionType, bindings: Dict[str, Any]) -> str:
    if _is_literal(value):
        return ascii(value)
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        name = value.__name__
        if function.__globals__.get(name, getattr(builtins, name, None)) is value:
            return name
    name = f"_default_{parameter}"
    used = _names(function.__code__)
    while name in used or name in bindings:
        name += "_"
    bindings[name] = value
    return name


def _is_literal(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_literal, value))
    if type(value) is float:
        return math.isfinite(value)
    return type(value) in _PLAIN


def _names(code: CodeType) -> List[str]:
    return [*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars]
