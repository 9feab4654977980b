# SPDX-License-Identifier: Apache-2.0
"""Description of a graph module's inputs and constants, as plain values.

Only torch.fx's public interface is used: nodes, targets and ``meta``.  Sizes are read as hints,
since evaluating a symbolic size would add a guard to its compile.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Iterator

from pellucid.dump.model.breaks import calls_of
from pellucid.dump.model.events import Place
from pellucid.dump.model.failures import is_own
from pellucid.dump.model.modules import ModulePath
from pellucid.dump.model.names import as_written, scrub
from pellucid.dump.model.needs import Needs, Tensor, Value
from pellucid.imported import import_line

from . import graph_hooks
from .shapes import LINE_KEY, MODULE_KEYS, SHAPES, VALUE_KEYS

if TYPE_CHECKING:
    import torch

_LITERAL_CONSTANT = 32
"""Constants up to this many elements are written as literals."""


def describe(graph: Any) -> Needs:
    """Return the requirements for running a graph module on its own."""
    import torch

    inputs = tuple(
        _value(str(node.target), _example(node))
        for node in graph.graph.nodes
        if node.op == "placeholder"
    )
    children = tuple(_children(graph, ""))
    constants = [
        _constant(graph, name)
        for name in dict.fromkeys(_attributes(graph, ""))
        if name not in children
    ]
    imports = []
    for name, value in _globals(graph):
        statements = _import(name, value) or _wrapper(name, value)
        if statements:
            imports += statements.split("\n")
        else:
            constants.append(Value(name, lacking=_why_not(name, value)))
    imports = sorted(dict.fromkeys(imports), key=lambda line: " = " in line)
    returned = next((node.args[0] for node in graph.graph.nodes if node.op == "output"), ())
    outputs = len(returned) if isinstance(returned, (list, tuple)) else 1
    grad = torch.is_grad_enabled()
    modules = tuple(_modules(graph))
    return Needs(inputs, outputs, tuple(constants), children, tuple(imports), grad, modules)


def _example(node: Any) -> Any:
    return next((node.meta[key] for key in VALUE_KEYS if key in node.meta), _UNKNOWN)


_UNKNOWN = object()


def _value(name: str, value: Any) -> Value:
    import torch

    if value is _UNKNOWN:
        return Value(name, lacking="torch does not tell what it is")
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return Value(name, literal=_literal(value))
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        hint = graph_hooks.size_hint(value)
        if hint is None:
            return Value(name, lacking="its value is known only when the program runs")
        return Value(name, literal=_literal(hint), symbol=str(value))
    if isinstance(value, torch.Tensor):
        return _tensor(name, value)
    if type(value) is list and value:
        items = tuple(_value(f"{name}[{number}]", item) for number, item in enumerate(value))
        return next((item for item in items if item.lacking), Value(name, items=items))
    return Value(name, lacking=scrub(f"it is a {type(value).__name__}"))


def _literal(value: Any) -> str:
    text = repr(value)
    return f"float({text!r})" if text in ("inf", "-inf", "nan") else text


def _tensor(name: str, value: torch.Tensor, with_values: bool = False) -> Value:
    import torch

    if value.layout is not torch.strided:
        return Value(name, lacking=f"its layout is {value.layout}")
    shape = [graph_hooks.size_hint(size) for size in value.shape]
    stride = [graph_hooks.size_hint(step) for step in value.stride()]
    if any(size is None for size in (*shape, *stride)):
        return Value(name, lacking="its size is known only when the program runs")
    values = ""
    if with_values and value.numel() <= _LITERAL_CONSTANT:
        text = repr(graph_hooks.elements(value))
        values = "" if "nan" in text or "inf" in text or text == "None" else text
    tensor = Tensor(
        shape=tuple(map(int, shape)),  # type: ignore[arg-type]
        stride=tuple(map(int, stride)),  # type: ignore[arg-type]
        dtype=str(value.dtype).rpartition(".")[2],
        device=str(value.device),
        requires_grad=bool(value.requires_grad),
        values=values,
        is_leaf=bool(value.is_leaf),
    )
    return Value(name, tensor)


# -- attributes ------------------------------------------------------------------------------------


def _children(graph: Any, prefix: str) -> Iterator[str]:
    """Yield the nested graphs; torch.fx prints each as a class inside its parent's class."""
    import torch

    for name, child in graph.named_children():
        if isinstance(child, torch.fx.GraphModule):
            yield prefix + name
            yield from _children(child, f"{prefix}{name}.")


def _attributes(graph: Any, prefix: str) -> Iterator[str]:
    import torch

    for node in graph.graph.nodes:
        if node.op in ("get_attr", "call_module"):
            yield prefix + str(node.target)
    for name, child in graph.named_children():
        if isinstance(child, torch.fx.GraphModule):
            yield from _attributes(child, f"{prefix}{name}.")


def _constant(graph: Any, name: str) -> Value:
    import torch

    value = graph
    for part in name.split("."):
        value = getattr(value, part, _UNKNOWN)
    if isinstance(value, torch.Tensor):
        real = type(value) in (torch.Tensor, torch.nn.Parameter)
        return _tensor(name, value, with_values=real)
    if isinstance(value, torch.nn.Module):
        text = repr(value)
        if type(value).__module__.startswith("torch.nn.modules.") and "\n" not in text:
            return Value(name, literal=f"torch.nn.{text}")
        return Value(name, lacking=f"it is a module of {type(value).__name__}")
    return _value(name, value)


def _modules(graph: Any) -> Iterator[tuple[str, ModulePath]]:
    """Yield the module path of each node in a module; a backward node has its forward node's."""
    SHAPES.has("modules of a graph's operations")
    written = functools.lru_cache(maxsize=None)(as_written)  # many operations are in one module
    for node in graph.graph.nodes:
        stack = next(filter(None, map(node.meta.get, MODULE_KEYS)), None)
        if not isinstance(stack, dict) or node.op in ("placeholder", "output"):
            continue
        path = []
        for entry in stack.values():
            if isinstance(entry, tuple) and len(entry) == 2:
                name = getattr(entry[1], "__name__", str(entry[1]).rpartition(".")[2])
                path.append((written(str(entry[0])), name))
        if path:
            yield node.name, tuple(path)


def callers(graph: Any) -> tuple[Place, ...]:
    """Return the user's lines that call the code of a graph's operations, each once."""
    stacks = dict.fromkeys(str(node.meta.get(LINE_KEY) or "") for node in graph.graph.nodes)
    outer = (place for stack in stacks for place in calls_of(stack)[:-1])
    return tuple(dict.fromkeys(place for place in outer if is_own(place.file)))


def _globals(graph: Any) -> list[tuple[str, Any]]:
    """Return the globals of a graph's code besides torch, by name."""
    # Generating the code is expensive, and nearly every graph only calls operators: torch's are
    # printed by their full names, and Python's as operators.
    calls = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    modules = {str(getattr(target, "__module__", None)) for target in calls}
    if all(m.startswith(_IN_FULL) and not m.startswith("torch._dynamo") for m in modules):
        return []
    found = getattr(graph.graph.python_code("self"), "globals", None)
    if not isinstance(found, dict):
        SHAPES.missed("globals of a graph")
        return []
    return sorted(item for item in found.items() if item[0] not in _IMPORTED_ALWAYS)


def _import(name: str, value: Any) -> str:
    """Return the import statement for a global of the code that torch.fx generates; empty if none.

    >>> import collections
    >>> _import("Counter", collections.Counter), _import("make", collections.namedtuple)
    ('from collections import Counter', 'from collections import namedtuple as make')
    """
    if isinstance(value, ModuleType):
        return import_line(value, name)
    module = getattr(value, "__module__", None)
    own = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    for place in (str(module), *_NUMPY):
        found = getattr(sys.modules.get(place), str(own), None)
        if found is value and str(own).isidentifier():
            return f"from {place} import {own}" + ("" if own == name else f" as {name}")
    return ""


# The modules of torch's own versions of NumPy functions, which do not record their module.
_NUMPY = tuple(f"torch._numpy{part}" for part in ("", ".linalg", ".fft", ".random"))
_WRAPPERS = "torch._dynamo.utils"


def _wrapper(name: str, value: Any) -> str:
    """Return the statements that create one of Dynamo's NumPy wrappers; empty for other values."""
    kind = type(value)
    held = list(getattr(value, "__dict__", {}).items())
    if kind.__module__ != _WRAPPERS or not kind.__name__.startswith("numpy_"):
        return ""
    given = [of for attribute, of in held if attribute in ("f", "op", "method")]
    if len(given) != 1:
        SHAPES.missed("globals of a graph")
        return ""
    lines = [f"from {_WRAPPERS} import {kind.__name__}"]
    made = repr(given[0])
    if not isinstance(given[0], str):
        made = f"numpy_{getattr(given[0], '__name__', '')}"
        lines.append(_import(made, given[0]))
    return "\n".join([*lines, f"{name} = {kind.__name__}({made})"]) if all(lines) else ""


def _why_not(name: str, value: Any) -> str:
    if name.startswith("torch__dynamo_compiled_autograd_"):
        return "compiled autograd generates it for one backward pass, in the process that runs it"
    return f"no import finds this {type(value).__name__}"


_IN_FULL = ("torch", "_operator", "builtins")
_IMPORTED_ALWAYS = ("torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree")
