# SPDX-License-Identifier: Apache-2.0
"""Static trials of recompile remedies: whether two versions differ only in the failed guard."""

from __future__ import annotations

import ast
import operator
import re
from typing import Any, Mapping

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import CacheEntry, CompileKey, Graph, Guard, GuardFailure
from pellucid.dump.model.names import as_written

_SIZES = re.compile(r"size=\[(?P<size>[^\]]*)\]")
_LAYOUT = re.compile(r"(?:size|stride)=\[[^\]]*\]|,? ?(?:dynamic_dims|storage_offset)=[^,)]*")
_GENERATED = re.compile(r"___\d+\b|_\d+(?=\b)")
_SIZE_OF = re.compile(r"(?P<source>[LG]\[[^()]*?\][\w.\[\]']*)\.size\(\)\[(?P<index>\d+)\]")
_ABOUT_SHAPES = re.compile(r"\.(?:size|stride|storage_offset)\(\)")
_IN_SIZE = re.compile(r"\.(?:(?:size|stride)\(\d+\)|requires_grad|dtype|device)$")


def entry_of(capture: Capture, key: CompileKey | None) -> CacheEntry | None:
    """Return the cache entry of a compile; None if the capture does not have it."""
    for entries in capture.caches.values():
        for entry in entries:
            if entry.key == key:
                return entry
    return None


def only_difference(capture: Capture, failure: GuardFailure, newer: CompileKey) -> bool:
    """Return true if two versions are equal except for the guard that failed.

    Apart from guards on that value, both have the same guards; the older version's sizes satisfy
    the newer one's shape guards; and both graphs have the same operations.
    """
    old, new = entry_of(capture, failure.version), entry_of(capture, newer)
    if old is None or new is None or not old.guards or not new.guards:
        return False
    source = _IN_SIZE.sub("", failure.source)
    if not source or _others(old, source, failure.kind) != _others(new, source, failure.kind):
        return False
    if not _passes(old, new):
        return False
    mine, theirs = _operations(capture, old.key), _operations(capture, new.key)
    return mine is not None and mine == theirs


def value_in(entry: CacheEntry | None, source: str) -> str:
    """Return the value that a version expects of a source; empty if it expects none."""
    for guard in entry.guards if entry is not None else ():
        text = guard.text
        left, equals, right = text.partition(" == ")
        if equals and as_written(left) == source:
            return right.strip()
        if text.endswith(" is None") and as_written(text[: -len(" is None")]) == source:
            return "None"
    return ""


def _others(entry: CacheEntry, source: str, kind: str) -> frozenset[str]:
    texts = set()
    for guard in entry.guards:
        about = as_written(guard.source) if guard.source else ""
        if _ABOUT_SHAPES.search(guard.text) and guard.kind in ("LAMBDA_GUARD", "SHAPE_ENV"):
            continue  # checked by _passes
        if about == source:
            if guard.kind == "TENSOR_MATCH" and kind in ("size", "stride", "shape"):
                texts.add(_same(_LAYOUT.sub("", guard.text)))
            continue
        if guard.kind == "NO_TENSOR_ALIASING":  # its text depends on an order that torch changes
            texts.add(f"no alias of {about}")
            continue
        if not about and as_written(guard.text.partition(" == ")[0]) == source:
            continue
        texts.add(_same(guard.text))
    return frozenset(texts)


def _same(text: str) -> str:
    return _GENERATED.sub("", text)


def _passes(old: CacheEntry, new: CacheEntry) -> bool:
    """Return true if the sizes of the older version satisfy the newer one's shape guards."""
    sizes = _sizes(old)
    for guard in new.guards:
        if guard.kind not in ("LAMBDA_GUARD", "SHAPE_ENV") or not _ABOUT_SHAPES.search(guard.text):
            continue
        if _holds(guard, sizes) is not True:
            return False
    return True


def _sizes(entry: CacheEntry) -> Mapping[tuple[str, int], int]:
    found = {}
    for guard in entry.guards:
        size = _SIZES.search(guard.text) if guard.kind == "TENSOR_MATCH" else None
        for index, number in enumerate(size["size"].split(",") if size is not None else ()):
            if number.strip().isdigit():
                found[guard.source, index] = int(number)
    return found


def _holds(guard: Guard, sizes: Mapping[tuple[str, int], int]) -> bool | None:
    """Return whether a shape guard holds for these sizes; None if it needs more than them."""
    text = _SIZE_OF.sub(
        lambda m: str(sizes.get((m["source"], int(m["index"])), "unknown")), guard.text
    )
    try:
        return bool(_value(ast.parse(text.strip(), mode="eval").body))
    except (ValueError, SyntaxError, ArithmeticError, RecursionError):
        return None


_ARITHMETIC: Mapping[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Mapping[type, Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.BoolOp):
        values = [_value(part) for part in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Compare):
        values = [_value(part) for part in (node.left, *node.comparators)]
        steps = zip(node.ops, values, values[1:])
        return all(_COMPARISONS[type(op)](a, b) for op, a, b in steps if _known(op))
    raise ValueError("not a comparison of sizes")


def _known(op: ast.cmpop) -> bool:
    if type(op) not in _COMPARISONS:
        raise ValueError("not a comparison of sizes")
    return True


def _operations(capture: Capture, key: CompileKey) -> list[tuple[str, str]] | None:
    """Return the operations of a compile's graphs in order; None if its nodes are unknown."""
    files = dict.fromkeys(
        g.file for g in capture.of(Graph) if g.key == key and g.stage == "captured"
    )
    nodes = [node for file in files for node in capture.nodes(file)]
    if not nodes:
        return None
    return [(node.op, node.target) for node in nodes if node.op.startswith("call")]
