# SPDX-License-Identifier: Apache-2.0
"""Parsing of the values in torch's guard text: ``device(type='cpu')``, ``torch.Size([2, 3])``.

Only unambiguous values are accepted: literals, containers of them, and the few torch names that
guards compare with.  All other values come from the objects that the process keeps.
"""

from __future__ import annotations

import ast
import builtins
import functools
from types import CodeType
from typing import Any, Callable, Mapping

_CALLS = frozenset(["device", "slice", "range", "set", "frozenset", "Size"])
_NAMES = frozenset(["torch", "device", "inf", "slice", "range", "set", "frozenset", "Ellipsis"])
_NODES = (
    ast.Expression,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.UnaryOp,
    ast.BinOp,
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.keyword,
    ast.Load,
    ast.USub,
    ast.Add,
    ast.Sub,
)


def parse(text: str) -> ast.Expression | None:
    """Parse an expression; None if the text is not one."""
    try:
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def walk(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes of a tree except load and store contexts, outer nodes first.

    Like :func:`ast.walk`, but much faster; large models have trees of many thousand nodes.

    >>> [type(node).__name__ for node in walk(parse("a + 1"))]
    ['Expression', 'BinOp', 'Name', 'Add', 'Constant']
    """
    nodes = [tree]
    for node in nodes:  # nodes grows during the loop
        kind = type(node)
        fields = _FIELDS.get(kind)
        if fields is None:
            fields = _FIELDS[kind] = _fields_with_nodes(kind)
        for name in fields:
            value = getattr(node, name, None)
            if type(value) is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


def _fields_with_nodes(kind: type[ast.AST]) -> tuple[str, ...]:
    if issubclass(kind, (ast.Constant, ast.Name)):
        return ()
    return tuple(name for name in kind._fields if name not in _TEXT_FIELDS)


_FIELDS: dict[type, tuple[str, ...]] = {}
_TEXT_FIELDS = frozenset(["ctx", "attr", "arg", "asname", "kind", "type_comment"])


def names_in(tree: ast.AST) -> set[str]:
    """Return the names that an expression uses but does not bind.

    >>> sorted(names_in(parse("max(x, *(y for y in L['z']))")))
    ['L', 'max', 'x']
    """
    found: set[str] = set()
    bound: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Name):
            (found if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return found - bound


def literal(text: str, names: Mapping[str, Any], accept: Callable[[Any], Any]) -> str | None:
    """Return the text of a value if it is unambiguous and ``accept`` (torch's own guard) agrees.

    ``names`` are the values of ``torch``, ``device`` and ``inf``.  Returns None for anything else.

    >>> literal("(1, 'a')", {}, lambda value: value == (1, "a")), literal("<A.B: 1>", {}, bool)
    ("(1, 'a')", None)
    """
    found = _plain(text)
    if found is None:
        return None
    shown, code = found
    try:
        scope = {**names, "__builtins__": _builtins()} if code.co_names else {}
        value = eval(code, scope)
        return shown if accept(value) else None
    except Exception:  # a text that only looks like a value
        return None


@functools.lru_cache(maxsize=1 << 13)
def _plain(text: str) -> tuple[str, CodeType] | None:
    """Return the text of a value and its compiled code; cached, since guards repeat values."""
    tree = parse(text)
    if tree is None or not _is_plain(tree):
        return None
    return _unqualified(text.strip(), tree), compile(tree, "<guard>", "eval")


def _unqualified(text: str, tree: ast.AST) -> str:
    """Replace ``torch.float32`` by ``float32``: a dumped file imports the names of guard values.

    >>> _unqualified("(1, torch.float32)", parse("(1, torch.float32)"))
    '(1, float32)'
    >>> _unqualified("torch.bool", parse("torch.bool"))  # bare, that is another one
    'torch.bool'
    """
    raw = text.encode()
    if "." not in text:
        return text
    nodes = [node for node in walk(tree) if isinstance(node, ast.Attribute)]
    bare = [node for node in nodes if not hasattr(builtins, node.attr)]
    for node in sorted(bare, key=lambda node: -node.col_offset):
        end = node.col_offset + len("torch.")
        raw = raw[: node.col_offset] + raw[end:]
    return raw.decode()


def _builtins() -> dict[str, Any]:
    return {"set": set, "frozenset": frozenset, "slice": slice, "range": range, "Ellipsis": ...}


def _is_plain(tree: ast.AST) -> bool:
    for node in walk(tree):
        if not isinstance(node, _NODES):
            return False
        if isinstance(node, ast.Name) and node.id not in _NAMES:
            return False
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id == "torch"
        ):
            return False
        if isinstance(node, ast.Call) and _called(node.func) not in _CALLS:
            return False
    return True


def _called(function: ast.AST) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
