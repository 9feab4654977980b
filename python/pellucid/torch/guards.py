"""A cache entry's leaf guards as Python: translated by kind where that is sure, else only told.

torch words a guard as ``expression  # user's line  # file:line in function``; the expression is
often no Python, or is about an object's address.  Translated here are the kinds that are decided by
values alone.  Every other guard keeps its wording, and the file says that it is not checked.
"""

from __future__ import annotations

import ast
import re
from typing import Callable, Iterable

from .events import Guard
from .names import scrub

# Names that a translated guard may use; anything else would not resolve in the file.
_BUILTINS = ("len", "hasattr", "type", "isinstance", "str", "int", "float", "bool")
_KNOWN = frozenset(("L", "G", *_BUILTINS, "check_tensor", "type_name", "dict_contains"))
_BY_VALUE = frozenset(
    [
        "EQUALS_MATCH",
        "LENGTH_CHECK",
        "TRUE_MATCH",
        "FALSE_MATCH",
        "NONE_MATCH",
        "LAMBDA_GUARD",
        "DIMENSION_DYNAMIC_MARKING_GUARD",
        "RANGE_ITERATOR_MATCH",
        "NOT_NONE",
        "DICT_LENGTH",
        "NO_HASATTR",
        "DICT_CONTAINS",
        "SET_CONTAINS",
    ]
)
_TYPE = re.compile(r"___check_type_id\((?P<what>.*), \d+\), type=<class '(?P<type>[^']+)'>\Z")
_DICT_CONTAINS = re.compile(r"(not )?___dict_contains\((.*)\)\Z")


def translate(leaves: Iterable[tuple[str, str]]) -> list[Guard]:
    """Make guards of torch's (kind, text) pairs, in the same order."""
    return [_guard(kind, text) for kind, text in leaves]


def _guard(kind: str, text: str) -> Guard:
    code, user_line = split(text)
    make = _TRANSLATORS.get(kind) or (_by_value if kind in _BY_VALUE else None)
    expression = make(code) if make is not None else None
    if expression is not None and not _resolves(expression):
        expression = None
    return Guard(kind, scrub(code), scrub(user_line), expression)


def split(text: str) -> tuple[str, str]:
    """Part torch's wording into the expression and the user's line.

    >>> split("L['k'] == '#'      # x * k  # a.py:9 in f")
    ("L['k'] == '#'", 'x * k  # a.py:9 in f')
    """
    quote = ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char == "#":
            return text[:at].strip(), text[at + 1 :].strip()
    return text.strip(), ""


def _by_value(code: str) -> str | None:
    found = _DICT_CONTAINS.match(code)
    if found:
        return f"{found[1] or ''}dict_contains({found[2]})"
    return code


def _tensor(code: str) -> str | None:
    """``check_tensor(L['x'], Tensor, DispatchKeySet(…), torch.float32, device=None, …)``."""
    try:
        call = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(call, ast.Call) or len(call.args) < 4:
        return None
    what, cls, _keys, dtype = (_text(code, node) for node in call.args[:4])
    if what is None or cls is None or dtype is None:
        return None
    options = [f"type={cls!r}", f"dtype={dtype!r}"]
    for keyword in call.keywords:
        value = _text(code, keyword.value)
        if keyword.arg not in ("device", "requires_grad", "size", "stride") or value is None:
            return None
        options.append(f"{keyword.arg}={value}")
    return f"check_tensor({what}, {', '.join(options)})"


def _text(code: str, node: ast.AST) -> str | None:
    return ast.get_source_segment(code, node)


def _type(code: str) -> str | None:
    found = _TYPE.match(code)
    return f"type_name({found['what']}) == {found['type']!r}" if found else None


_TRANSLATORS: dict[str, Callable[[str], str | None]] = {
    "TENSOR_MATCH": _tensor,
    "TYPE_MATCH": _type,
}


def _resolves(expression: str) -> bool:
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return all(node.id in _KNOWN for node in ast.walk(tree) if isinstance(node, ast.Name))
