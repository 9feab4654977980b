# SPDX-License-Identifier: Apache-2.0
"""The end of a graph's file: example inputs, and a ``main`` that runs the graph by itself.

The input is a description as plain values (:mod:`~pellucid.dump.model.needs`); the output is text
that needs torch but not pellucid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Sequence

from pellucid.dump.model.needs import Needs, Value, contiguous

_CLASS = re.compile(r"^class (\w+)\(", re.MULTILINE)
_ONE_LIST = re.compile(r"^    def forward\(\s*self,\s*args_list\b", re.MULTILINE)
_LISTS = re.compile(r"fx_pytree\.tree_flatten_spec\(\[([\w, ]*)\], self\._in_spec\)")
_RANDOM = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128")


@dataclass(frozen=True)
class Comparison:
    """A comparison of a graph, compiled, with eager.

    Args:
        rtol, atol: the tolerance, as :func:`torch.testing.assert_close` takes it.
        options: the settings of ``torch.compile``, as an expression; empty if there are none.
        stored: the file beside the program that contains the inputs; empty for random ones.
        folders: where the modules are that register the graph's operators.
    """

    rtol: float
    atol: float
    options: str = ""
    stored: str = ""
    folders: tuple[str, ...] = ()


DIFFER = "compiled code and eager differ"
"""How the error of a program that compares begins."""


def main_text(body: str, needs: Needs, comparison: Comparison | None = None) -> str:
    """Return the end of a graph's file.

    Args:
        body: the class as torch.fx prints it.
        needs: its requirements.
        comparison: compare the graph, compiled, with eager; otherwise it only runs.
    """
    found = _CLASS.search(body)
    if found is None:
        return ""
    lacking = [value for value in (*needs.inputs, *needs.constants) if value.lacking]
    if lacking and found[1].startswith("CompiledAutograd"):
        why = "compiled autograd generates it for one backward pass, in the process that runs it"
        lacking = [replace(value, lacking=why) for value in lacking]
    for child in needs.children:
        if f"class {child.rpartition('.')[2]}(" not in body:
            lacking.append(Value(child, lacking="this torch does not print the graphs inside"))
    stored = comparison.stored if comparison is not None else ""
    lines = ["", "", "def example_inputs():", *(_loading(stored) if stored else _inputs(needs))]
    lines += ["", "", *(_BOTH.split("\n") if comparison is not None else ())]
    lines += ['if __name__ == "__main__":']
    if "self._in_spec" in body:
        lines += [
            "    from torch.fx import _pytree as fx_pytree",
            "    from torch.utils import _pytree as pytree",
        ]
        lines += [""]
    folders = comparison.folders if comparison is not None else ()
    lines += [f"    sys.path.append({folder!r})" for folder in folders]
    lines += [f"    {line}" for line in _registering(needs)]
    if lacking:
        lines += ["    raise SystemExit("]
        texts = [f"{value.name} cannot be built: {value.lacking}" for value in lacking]
        ends = ["\n"] * (len(texts) - 1) + [""]
        lines += [f"        {text + end!r}" for text, end in zip(texts, ends)]
        lines += ["    )"]
    else:
        lines += [f"    {line}" for line in _main(found[1], body, needs, comparison)]
    return "\n".join(lines) + "\n"


def _inputs(needs: Needs) -> list[str]:
    lines = ['    """Inputs of the kind that torch compiled for; the values are random."""']
    if not needs.inputs:
        return [*lines, "    return []"]
    lines += ["    torch.manual_seed(0)", "    return ["]
    for value in needs.inputs:
        lines.append(f"        {expression(value)},  # {value.name}")
    return [*lines, "    ]"]


def _loading(name: str) -> list[str]:
    return [
        '    """The inputs for which they differ."""',
        "    torch.manual_seed(0)",
        f"    return torch.load(pathlib.Path(__file__).with_name({name!r}), weights_only=True)",
    ]


def _registering(needs: Needs) -> list[str]:
    """Return imports that register the operators, and an error for those only the program has."""
    modules: dict[str, list[str]] = {}
    for operator, module in needs.operators:
        modules.setdefault(module, []).append(operator)
    alone = modules.pop("", [])
    lines = [f"import {m}  # registers {', '.join(names)}" for m, names in sorted(modules.items())]
    lines += [""] if lines else []
    for operator in alone:
        namespace, _, name = operator.partition(".")
        why = f"torch.ops.{operator} cannot be called: first import the library that registers it"
        lines += [
            f'if not hasattr(torch.ops.{namespace}, "{name}"):',
            f"    raise SystemExit({why!r})",
        ]
    return lines


def _main(name: str, body: str, needs: Needs, comparison: Comparison | None) -> list[str]:
    lines = [f"graph = {name}()"]
    for child in needs.children:
        # The nested class is a class attribute of the same name; an instance attribute takes
        # precedence.
        made = f"{name}.{child}()"
        if not any(other.startswith(child + ".") for other in needs.children):
            # higher-order operators require graph modules
            made = f"torch.fx.symbolic_trace({made})"
        parent, _, own = f"graph.{child}".rpartition(".")
        lines.append(f'vars({parent})["{own}"] = {made}')
    for value in needs.constants:
        lines.append(f"graph.{value.name} = {expression(value)}")
    if comparison is not None:
        return [*lines, *_compared(comparison)]
    if "self._in_spec" in body:
        return [*lines, *_grouped(body, needs), *_SHOW]
    one_list = _ONE_LIST.search(body) is not None
    inputs = "example_inputs()" if one_list else "*example_inputs()"
    return [*lines, *_call(f"graph({inputs})", needs), *_SHOW]


def _call(call: str, needs: Needs) -> list[str]:
    return [f"with torch.set_grad_enabled({needs.grad}):", f"    result = {call}"]


def _grouped(body: str, needs: Needs) -> list[str]:
    """Return the call of a graph that takes lists of inputs (``primals``, ``tangents``)."""
    found = _LISTS.search(body)
    names = [name.strip() for name in found[1].split(",")] if found else []
    slices, start = [], 0
    for name in names:
        size = sum(value.name.rpartition("_")[0] == name for value in needs.inputs)
        slices.append(f"inputs[{start}:{start + size}]")
        start += size
    return [
        "inputs = example_inputs()",
        f"arguments = ({', '.join(slices)},)",
        "graph._in_spec = pytree.tree_structure(arguments)",
        f"graph._out_spec = pytree.tree_structure([0] * {needs.outputs})",
        *_call("graph(*arguments)", needs),
    ]


_BOTH = '''\
def run(function):
    """Return the results, the inputs after the call, and their gradients."""
    inputs = example_inputs()
    result = function(*inputs)
    values = [*(result if isinstance(result, (list, tuple)) else [result]), *inputs]
    values = [value for value in values if isinstance(value, torch.Tensor)]
    roots = [value for value in values if value.grad_fn is not None]
    torch.autograd.backward(roots, [torch.randn_like(root) for root in roots])
    gradients = [value.grad for value in values if value.is_leaf and value.grad is not None]
    return [value.detach() for value in values] + gradients

'''


def _compared(comparison: Comparison) -> list[str]:
    options = f", options={comparison.options}" if comparison.options else ""
    tolerance = f"rtol={comparison.rtol:g}, atol={comparison.atol:g}, equal_nan=True"
    return [
        f"compiled = torch.compile(graph{options})",
        "try:",
        f"    torch.testing.assert_close(run(compiled), run(graph), {tolerance})",
        "except AssertionError as error:",
        f'    raise SystemExit(f"{DIFFER}: {{error}}")',
        'print("compiled code and eager agree")',
    ]


_SHOW = (
    "for value in result if isinstance(result, (list, tuple)) else [result]:",
    '    print(getattr(value, "dtype", type(value)), list(getattr(value, "shape", [])))',
)


def expression(value: Value) -> str:
    """Return the expression that builds a value.

    >>> from pellucid.dump.model.needs import Tensor
    >>> expression(Value("x", Tensor((2, 3), (3, 1), "float32", "cpu", requires_grad=True)))
    'torch.randn([2, 3]).requires_grad_()'
    >>> expression(Value("x", Tensor((2, 3), (1, 2), "float16", "cpu")))
    'torch.randn([6], dtype=torch.float16).as_strided([2, 3], [1, 2])'
    >>> expression(Value("x", Tensor((2,), (1,), "int64", "cpu")))
    'torch.zeros([2], dtype=torch.int64)'
    >>> computed = Tensor((2,), (1,), "float32", "cpu", requires_grad=True, is_leaf=False)
    >>> expression(Value("x", computed))
    'torch.randn([2]).requires_grad_().clone()'
    """
    tensor = value.tensor
    if value.items:
        return f"[{', '.join(map(expression, value.items))}]"
    if tensor is None:
        return value.literal or "None"
    device = "" if tensor.device == "cpu" else f", device={tensor.device!r}"
    options = ("" if tensor.dtype == "float32" else f", dtype=torch.{tensor.dtype}") + device
    grad = ".requires_grad_()" if tensor.requires_grad else ""
    if tensor.values:
        return f"torch.tensor({tensor.values}{options}){grad}"
    shape = list(tensor.shape)
    dense = tensor.stride == contiguous(tensor.shape)
    size = shape if dense else [_span(tensor.shape, tensor.stride)]
    if tensor.dtype in _RANDOM:
        made = f"torch.randn({size}{options})"
    elif tensor.dtype.startswith("float"):  # small float formats have no random generator
        made = f"torch.randn({size}{device}).to(torch.{tensor.dtype})"
    else:
        # An index of 0 and a mask of all ones are valid wherever one is expected.
        maker = "ones" if tensor.dtype == "bool" else "zeros"
        made = f"torch.{maker}({size}{options})"
    view = "" if dense else f".as_strided({shape}, {list(tensor.stride)})"
    if grad and not tensor.is_leaf:
        return f"{made}{grad}.clone(){view}"
    return made + view + grad


def _span(shape: Sequence[int], stride: Sequence[int]) -> int:
    """Return the number of elements from the first to the last, inclusive."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride))
