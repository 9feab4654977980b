# SPDX-License-Identifier: Apache-2.0
"""Transformation of a syntax tree into the one from which CPython's compiler generates code.

The compiler computes operations on constants (``ast_opt.c``; since 3.14 ``flowgraph.c``), replaces
``__debug__``, and leaves out asserts and docstrings when it optimizes.  The engine lowers what is
left, which is the same for all versions.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import operator
import tokenize
from typing import Any, Callable, Dict, Optional, Tuple, Type

# The limits of ast_opt.c.
_MOST_BITS = 128
_MOST_ITEMS = 256
_MOST_TEXT = 4096
_MOST_PARTS = 1024


class _NotFolded(Exception):
    """CPython leaves this operation to run time."""


def prepare(
    tree: ast.Module,
    version: Tuple[int, int],
    optimize: int = 0,
    *,
    source: str | bytes = "",
    stringizes: bool = True,
) -> ast.Module:
    """Return the tree from which a version generates code at an optimization level, 0 to 2.

    Changes the given tree.  With ``stringizes``, annotations that ``from __future__ import
    annotations`` turns into strings become names with that text, as in the engine's trees.  The
    tree does not show what ``source`` has in brackets.
    """
    prepared = _Folder(version, optimize, source, stringizes).visit(tree)
    assert isinstance(prepared, ast.Module)
    return prepared


class _Folder(ast.NodeTransformer):
    def __init__(
        self, version: Tuple[int, int], optimize: int, source: str | bytes, stringizes: bool
    ) -> None:
        self.trims_docstrings = version >= (3, 13)
        self.takes_tuples = version < (3, 9)
        self.folds_late = self.mixes_complex = version >= (3, 14)
        self.optimize = optimize
        self.source = source
        self.stringizes = stringizes

    def _body(self, node: Any) -> Any:
        text = ast.get_docstring(node, clean=False)
        if text is not None and self.optimize > 1:
            # Nothing comes before a future import, but a string must not become the docstring.
            docstring = node.body.pop(0)
            if not node.body or ast.get_docstring(node, clean=False) is not None:
                node.body.insert(0, ast.copy_location(ast.Pass(), docstring))
        elif text is not None and self.trims_docstrings:
            node.body[0].value = ast.copy_location(ast.Constant(trimmed(text)), node.body[0])
        return self.generic_visit(node)

    visit_ClassDef = _body

    def _with(self, node: Any) -> Any:
        # To 3.8, `with (a, b):` has one manager: a tuple.
        are_bare = all(item.optional_vars is None for item in node.items)
        is_tuple = self.takes_tuples and len(node.items) > 1 and are_bare
        if is_tuple and _is_in_brackets(node, self.source):
            parts = ast.Tuple([item.context_expr for item in node.items], ast.Load())
            first = node.items[0].context_expr
            node.items = [ast.withitem(ast.copy_location(parts, first), None)]
        return self.generic_visit(node)

    visit_With = visit_AsyncWith = _with

    def visit_FunctionDef(self, node: Any) -> Any:
        if node.returns is not None:
            node.returns = self._annotation(node.returns)
        return self._body(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Module(self, node: ast.Module) -> Any:
        self.stringizes &= any(
            isinstance(part, ast.ImportFrom)
            and part.module == "__future__"
            and any(name.name == "annotations" for name in part.names)
            for part in node.body
        )
        return self._body(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.annotation = self._annotation(node.annotation)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        if node.annotation is not None:
            node.annotation = self._annotation(node.annotation)
        return self.generic_visit(node)

    def _annotation(self, node: ast.expr) -> ast.expr:
        """Return the string that ``from __future__ import annotations`` creates, as a name.

        Nothing is computed in it.
        """
        unparse = getattr(ast, "unparse", None)  # Python 3.9 and newer
        if not self.stringizes or unparse is None:
            return node
        return ast.copy_location(ast.Name(unparse(node), ast.Load()), node)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.generic_visit(node)
        if not self.optimize:
            return node
        # It generates no code, but the names in it still decide which variables are cells.
        return ast.copy_location(ast.If(ast.Constant(False), [node], []), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "__debug__":
            return ast.copy_location(ast.Constant(not self.optimize), node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _folded(node, lambda: _UNARY[type(node.op)](_value(node.operand)))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        # A sum of thousands of parts is nested thousands deep.
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        left: ast.expr = self.visit(spine[-1].left)
        for part in reversed(spine):
            part.right = self.visit(part.right)
            # Since 3.14 formats become f-strings before a sum of texts becomes one text.
            if not (self.folds_late and isinstance(part.op, ast.Mod) and part is not spine[-1]):
                part.left = left
            left = self._binary(part)
        return left

    def _binary(self, node: ast.BinOp) -> ast.expr:
        compute = _BINARY.get(type(node.op))
        if compute is None:
            return node
        operation = compute

        def computed() -> Any:
            left, right = _value(node.left), _value(node.right)
            kinds = {type(left), type(right)}
            if kinds in ({complex, float}, {complex, int}):
                return _mixed(operation, left, right, self.mixes_complex)
            return operation(left, right)

        return _folded(node, computed)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return _folded(node, lambda: _item(node, self.folds_late))


def _is_in_brackets(node: Any, source: str | bytes) -> bool:
    """Return true if brackets surround all managers of a ``with``: ``with (a), b:`` has none.

    >>> for text in ("with (a, b): c", "with (a), b: c"):
    ...     print(_is_in_brackets(ast.parse(text).body[0], text))
    True
    False
    """
    text = importlib.util.decode_source(source) if isinstance(source, bytes) else source
    segment = ast.get_source_segment(text, node) or ""
    tokens = tokenize.generate_tokens(io.StringIO(segment).readline)
    words = (
        token.string for token in tokens if token.string.strip() and token.type != tokenize.COMMENT
    )
    depth = 0
    for word in words:
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
        if not depth and word not in ("async", "with"):
            return word == ")" and next(words, "") == ":"
    return False


def trimmed(text: str) -> str:
    """Return a docstring without its indentation, as compilers since 3.13 store it.

    (compile.c: _PyCompile_CleanDoc)

    >>> trimmed("  One.\\n\\n    Two.\\n      Three.\\n    ")
    'One.\\n\\nTwo.\\n  Three.\\n'
    """
    first, *rest = text.expandtabs().split("\n")
    margins = [len(line) - len(line.lstrip(" ")) for line in rest if line.strip(" ")]
    margin = min(margins, default=0)
    # A line with fewer spaces contains nothing else.
    return "\n".join([first.lstrip(" "), *(line[margin:] for line in rest)])


def _folded(node: ast.expr, compute: Callable[[], Any]) -> ast.expr:
    try:
        value = compute()
    except (_NotFolded, ArithmeticError, TypeError, ValueError, LookupError):
        return node
    return ast.copy_location(_node(value), node)


def _node(value: Any) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple([_node(item) for item in value], ast.Load())
    return ast.Constant(value)


def _value(node: ast.expr) -> Any:
    """Return the value of a constant expression."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        return tuple(map(_value, node.elts))
    raise _NotFolded


def _item(node: ast.Subscript, folds_slices: bool) -> Any:
    index: Any = node.slice
    if type(index).__name__ == "Index":  # Python 3.8
        index = index.value
    if isinstance(index, ast.Slice) and folds_slices:
        parts = (index.lower, index.upper, index.step)
        return _value(node.value)[slice(*(None if p is None else _value(p) for p in parts))]
    return _value(node.value)[_value(index)]


def _mixed(compute: Callable[[Any, Any], Any], left: Any, right: Any, is_new: bool) -> Any:
    """Compute with a real and a complex number; 3.14 no longer converts the real one first."""
    if not is_new:
        return compute(complex(left), complex(right))
    if isinstance(left, complex) and compute in (operator.add, operator.sub):
        return complex(compute(left.real, right), left.imag)
    if isinstance(left, complex) and compute in (_multiply, operator.truediv):
        return complex(compute(left.real, right), compute(left.imag, right))
    if compute is operator.add:
        return complex(left + right.real, right.imag)
    if compute is operator.sub:
        return complex(left - right.real, -right.imag)
    if compute is _multiply:
        return complex(left * right.real, left * right.imag)
    raise _NotFolded


def _length(value: Any) -> Optional[int]:
    return len(value) if isinstance(value, (str, bytes, tuple)) else None


def _multiply(left: Any, right: Any) -> Any:
    are_ints = isinstance(left, int) and isinstance(right, int)
    if are_ints and left and right and left.bit_length() + right.bit_length() > _MOST_BITS:
        raise _NotFolded
    for count, items in ((left, right), (right, left)):
        size = _length(items)
        if isinstance(count, int) and size:
            most = _MOST_ITEMS if isinstance(items, tuple) else _MOST_TEXT
            if not 0 <= count <= most // size:
                raise _NotFolded
            if isinstance(items, tuple) and count and _parts(items) > _MOST_PARTS // count:
                raise _NotFolded
    return left * right


def _parts(value: Any) -> int:
    return sum(1 + _parts(item) for item in value) if isinstance(value, tuple) else 0


def _power(left: Any, right: Any) -> Any:
    are_ints = isinstance(left, int) and isinstance(right, int)
    if are_ints and left and right > 0 and left.bit_length() > _MOST_BITS // right:
        raise _NotFolded
    return left**right


def _left_shift(left: Any, right: Any) -> Any:
    are_ints = isinstance(left, int) and isinstance(right, int)
    if are_ints and left and (right > _MOST_BITS or left.bit_length() > _MOST_BITS - right):
        raise _NotFolded
    return left << right


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, (str, bytes)):
        raise _NotFolded  # a format
    return left % right


_BINARY: Dict[Type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: _power,
    ast.LShift: _left_shift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
_UNARY: Dict[Type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}


def has_future_annotations(tree: ast.Module) -> bool:
    """Return true if a module has ``from __future__ import annotations``."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
