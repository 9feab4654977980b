# SPDX-License-Identifier: Apache-2.0
"""Conversion of plain values to the model's dataclasses, by the declared types of fields.

The types are parsed from the annotations' text, since the oldest supported Pythons cannot evaluate
``int | None``.
"""

from __future__ import annotations

import ast
import functools
import sys
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Callable, Mapping, TypeVar

T = TypeVar("T")
Read = Callable[[Any], Any]


class Mismatch(ValueError):
    """A field has a value of the wrong type."""


def value_of(kind: type[T], values: Any) -> T:
    """Create an instance of a dataclass from a table of fields; unknown fields are ignored.

    Raises:
        Mismatch: a field without a default is missing, or has the wrong type.

    >>> from ..model.events import Place
    >>> value_of(Place, {"file": "f.py", "line": 3, "column": 7})
    Place(file='f.py', line=3)
    """
    if not isinstance(values, dict):
        raise Mismatch(f"{kind.__name__}: not a table of fields")
    found: dict[str, Any] = {}
    for name, read, in_file, has_default in _columns(kind):  # type: ignore[arg-type]
        if name in values:
            try:
                found[name] = read(values[name])
            except Mismatch as error:
                raise Mismatch(f"{kind.__name__}.{name}: {error}") from None
        elif in_file and not has_default:
            found[name] = read(None)
        elif not has_default:
            raise Mismatch(f"{kind.__name__}.{name} is missing")
    return kind(**found)


@functools.lru_cache(maxsize=None)
def _columns(kind: type) -> tuple[tuple[str, Read, bool, bool], ...]:
    """Return each field: its name, reader, whether it is in a file, whether it has a default."""
    scope = vars(sys.modules[kind.__module__])
    columns = []
    for field in fields(kind):
        in_file = bool(field.metadata.get("in_file"))
        read = _absent(str(field.type)) if in_file else reader(str(field.type), scope)
        has_default = field.default is not MISSING or field.default_factory is not MISSING
        columns.append((field.name, read, in_file, has_default))
    return tuple(columns)


def _absent(annotation: str) -> Read:
    """Return the value of a field that the record omits: an empty text, or None."""
    return lambda _: "" if annotation == "str" else None


def reader(annotation: str, scope: Mapping[str, Any]) -> Read:
    """Return the reader for values of a type.

    >>> reader("tuple[int, ...] | None", {})([1, 2])
    (1, 2)

    Raises:
        TypeError: there is no way to read that type.
    """
    return _reader(ast.parse(annotation, mode="eval").body, scope)


_SIMPLE: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
}


def _reader(node: ast.expr, scope: Mapping[str, Any]) -> Read:
    if isinstance(node, ast.Constant) and node.value is None:
        return _nothing
    if isinstance(node, ast.Name) and node.id == "Any":
        return lambda value: value
    if isinstance(node, ast.Name) and node.id in _SIMPLE:
        return _of_type(node.id, _SIMPLE[node.id])
    if isinstance(node, ast.Name) and is_dataclass(scope.get(node.id)):
        kind = scope[node.id]
        return lambda value: value_of(kind, value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _either(_reader(node.left, scope), _reader(node.right, scope))
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        inside: Any = getattr(node.slice, "value", node.slice)  # Python 3.8 wraps it
        parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        if node.value.id == "tuple":
            return _tuple(parts, scope)
        if node.value.id == "dict" and len(parts) == 2:
            return _dict(_reader(parts[1], scope))
    raise TypeError(f"no way to read the type {ast.dump(node)}")


def _nothing(value: Any) -> None:
    if value is not None:
        raise Mismatch(f"{value!r:.40} where no value is expected")


def _of_type(name: str, types: tuple[type, ...]) -> Read:
    def read(value: Any) -> Any:
        if not isinstance(value, types):
            raise Mismatch(f"{value!r:.40} is not of type {name}")
        return value

    return read


def _either(one: Read, other: Read) -> Read:
    def read(value: Any) -> Any:
        try:
            return one(value)
        except Mismatch as error:
            try:
                return other(value)
            except Mismatch:
                raise error from None

    return read


def _tuple(parts: list[Any], scope: Mapping[str, Any]) -> Read:
    if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...:
        element = _reader(parts[0], scope)
        return lambda value: tuple(element(item) for item in _list(value))
    elements = [_reader(part, scope) for part in parts]

    def read(value: Any) -> tuple[Any, ...]:
        if len(_list(value)) != len(elements):
            raise Mismatch(f"{len(value)} values where {len(elements)} should be")
        return tuple(element(item) for element, item in zip(elements, value))

    return read


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Mismatch(f"{value!r:.40} is not a list")
    return value


def _dict(element: Read) -> Read:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Mismatch(f"{value!r:.40} is not a table")
        return {str(key): element(item) for key, item in value.items()}

    return read
