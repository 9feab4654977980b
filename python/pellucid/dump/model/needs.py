# SPDX-License-Identifier: Apache-2.0
"""The requirements for running a printed graph on its own, as plain values.

:mod:`~fx_meta` reads them from a graph module.  If torch has only the text of a graph, because it
came from its cache, they are read here from the annotations.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Sequence, Union

from .modules import ModulePath


@dataclass(frozen=True)
class Tensor:
    """A tensor without its values: sizes and strides in elements."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    """torch's name without ``torch.``."""
    device: str
    requires_grad: bool = False
    values: str = ""
    """The elements as a literal, for the few small constants that are stored."""
    is_leaf: bool = True
    """Whether it is a leaf for autograd: views of a leaf cannot be written to."""


@dataclass(frozen=True)
class Value:
    """An input or a constant of a graph.

    Exactly one of ``tensor``, ``literal`` (a Python expression), ``items`` (of a list) and
    ``lacking`` (why it cannot be built) is set.
    """

    name: str
    tensor: Tensor | None = None
    literal: str = ""
    lacking: str = ""
    symbol: str = ""
    """The symbolic size that ``literal`` replaces."""
    items: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Needs:
    """The requirements for running a printed graph on its own.

    Args:
        inputs: the arguments of ``forward``, in order.
        outputs: the number of return values.
        constants: the attributes that it reads, by dotted name.
        children: the dotted names of nested graphs, outer ones first.
        imports: statements for the names that its text expects in its globals.
        operators: operators that ``import torch`` does not provide, each with its module;
            empty if only the program knows it.
        grad: whether it runs with gradients enabled.
        modules: the user's modules of its nodes, as pairs of a node's name and a path.
    """

    inputs: tuple[Value, ...]
    outputs: int = 0
    constants: tuple[Value, ...] = ()
    children: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    grad: bool = False
    modules: tuple[tuple[str, ModulePath], ...] = ()
    operators: tuple[tuple[str, str], ...] = ()


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a dense tensor.

    >>> contiguous([2, 3, 4])
    (12, 4, 1)
    """
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


# -- from the text alone ---------------------------------------------------------------------------

# torch's cache returns a graph as text, with shapes and dtypes in annotations.
_TENSOR = re.compile(r"(\w+)\[([^\]]*)\](?:\[([^\]]*)\])?(\S*)\Z")
_SYMBOL = re.compile(r"Sym\((.*)\)\Z")
DTYPES = {
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"c{bits}": f"complex{bits}" for bits in (32, 64, 128)},
    "bf16": "bfloat16",
    "b8": "bool",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2fnuz": "float8_e5m2fnuz",
}


def needs_of_text(body: str, symbols: Mapping[str, int]) -> Needs | None:
    """Read the requirements of a printed graph from its annotations.

    Args:
        body: the class as torch.fx prints it.
        symbols: the values that torch compiled with for symbolic sizes.

    Returns None if the text is not a graph.  Attributes get random values, since theirs are
    unknown.
    """
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    graph = next((node for node in tree.body if isinstance(node, ast.ClassDef)), None)
    functions = [] if graph is None else [n for n in graph.body if isinstance(n, ast.FunctionDef)]
    if not functions:
        return None
    forward = functions[0]
    declared = [(arg.arg, arg.annotation) for arg in forward.args.args[1:]]
    bare = [n for n in forward.body if isinstance(n, ast.AnnAssign) and n.value is None]
    if bare:  # the inputs are the items of its list parameters
        declared = [(n.target.id, n.annotation) for n in bare if isinstance(n.target, ast.Name)]
    returned = next((n.value for n in forward.body if isinstance(n, ast.Return)), None)
    if isinstance(returned, ast.Call) and returned.args:
        returned = returned.args[0]
    outputs = len(returned.elts) if isinstance(returned, (ast.Tuple, ast.List)) else 1
    inputs = tuple(_declared(name, note, symbols) for name, note in declared)
    constants = tuple(_declared(name, note, symbols) for name, note in _attributes(forward))
    return Needs(inputs, outputs, constants)


_SELF = ast.dump(ast.parse("self", mode="eval").body)


def _attributes(forward: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the attributes that a graph reads: ``mask: "f32[4][1]cpu" = self.mask``."""
    for node in forward.body:
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if isinstance(value, ast.Attribute) and ast.dump(value.value) == _SELF:
            yield value.attr, node.annotation if isinstance(node, ast.AnnAssign) else None


def _declared(name: str, annotation: ast.expr | None, symbols: Mapping[str, int]) -> Value:
    note = annotation.value if isinstance(annotation, ast.Constant) else None
    if not isinstance(note, str):
        return Value(name, lacking="torch does not record what it is")
    try:
        symbol = _SYMBOL.match(note)
        if symbol is not None:
            return Value(name, literal=str(*sizes_of(symbol[1], symbols)))
        found = _TENSOR.match(note)
        if found is None or found[1] not in DTYPES:
            return Value(name, lacking=f"it is described as {note!r}")
        shape = sizes_of(found[2], symbols)
        stride = contiguous(shape) if found[3] is None else sizes_of(found[3], symbols)
    except (ArithmeticError, KeyError, SyntaxError, TypeError, ValueError) as unknown:
        return Value(name, lacking=f"the size {unknown} is not recorded")
    return Value(name, Tensor(shape, stride, DTYPES[found[1]], found[4] or "cpu"))


def sizes_of(text: str, symbols: Mapping[str, int]) -> tuple[int, ...]:
    """Evaluate a list of symbolic sizes; SymPy prints them in Python syntax.

    >>> sizes_of("2*s0 + 1, 8, 24*Max(1, (s0//16))", {"s0": 3})
    (7, 8, 24)
    """
    if text.replace(", ", "").isdigit():
        return tuple(map(int, text.split(", ")))
    listed = ast.parse(f"[{text.strip()}]", mode="eval").body
    if not isinstance(listed, ast.List):
        raise ValueError(text)
    return tuple(_size(part, symbols) for part in listed.elts)


def _size(node: ast.expr, symbols: Mapping[str, int]) -> int:
    size = _evaluate(node, symbols)
    if size != int(size):
        raise ValueError(ast.dump(node))
    return int(size)


_Number = Union[int, float]


def _power(base: _Number, exponent: _Number) -> _Number:
    if exponent > 64:
        raise OverflowError(f"{base}**{exponent}")
    result: _Number = base**exponent
    return result


_OPERATORS: Mapping[type, Callable[[Any, Any], _Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
# The functions of torch.utils._sympy that occur in sizes and strides, by their printed names.
_FUNCTIONS: Mapping[str, Callable[..., _Number]] = {
    "Abs": abs,
    "CeilToInt": math.ceil,
    "FloatTrueDiv": operator.truediv,
    "FloorDiv": operator.floordiv,
    "FloorToInt": math.floor,
    "Identity": lambda value: value,
    "IntTrueDiv": operator.truediv,
    "Max": max,
    "Min": min,
    "Mod": operator.mod,
    "ModularIndexing": lambda base, divisor, modulus: base // divisor % modulus,
    "PowByNatural": _power,
    "PythonMod": operator.mod,
    "RoundToInt": round,
    "ToFloat": float,
    "TruncToInt": math.trunc,
    "ceiling": math.ceil,
    "floor": math.floor,
}


def _evaluate(node: ast.expr, symbols: Mapping[str, int]) -> _Number:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name):
        return symbols[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, symbols)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        apply = _OPERATORS[type(node.op)]
        return apply(_evaluate(node.left, symbols), _evaluate(node.right, symbols))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _FUNCTIONS[node.func.id]
        return function(*(_evaluate(argument, symbols) for argument in node.args))
    raise ValueError(ast.dump(node))
