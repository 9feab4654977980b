# SPDX-License-Identifier: Apache-2.0
"""The graph of an exported program, from the JSON that `torch.export.save` writes."""

from __future__ import annotations

import json
import keyword
import re
from typing import Any, Iterator, Mapping

_SYMBOL = re.compile(r"Symbol\('(\w+)'[^()]*\)")
_DEEPEST = 20
_MOST_NODES = 200_000
# torch._export.serde.schema.ScalarType
_DTYPES = (
    "",
    "u8",
    "i8",
    "i16",
    "i32",
    "i64",
    "f16",
    "f32",
    "f64",
    "c32",
    "c64",
    "c128",
    "b8",
    "bf16",
)


def graph_of(text: str) -> str:
    """Return the graph of an exported program as torch.fx prints it; empty if there is none."""
    try:
        program = json.loads(text)
        return "\n".join(_lines(program["graph_module"]["graph"])) + "\n"
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _lines(graph: Mapping[str, Any]) -> Iterator[str]:
    types = graph.get("tensor_values", {})
    inputs = [_typed(_value(each), types) for each in graph["inputs"]]
    yield "class GraphModule(torch.nn.Module):"
    yield f"    def forward({', '.join(['self', *inputs])}):"
    above = ""
    for node in graph["nodes"][:_MOST_NODES]:
        line = _user_line(node.get("metadata", {}).get("stack_trace", ""))
        if line and line != above:
            yield from (() if not above else [""])
            yield f"        # {line}"
        above = line or above
        results = [_value(each) for each in node.get("outputs", ())]
        args = []
        for each in node["inputs"]:
            shown = _value(each["arg"])
            args.append(f"{each['name']}={shown}" if each.get("kind") == 2 else shown)
        target = str(node["target"])
        call = f"{target if _is_path(target) else repr(target)}({', '.join(args)})"
        if len(results) == 1:
            yield f"        {_typed(results[0], types)} = {call}"
        else:
            names = "".join(f"{name}, " for name in results)
            yield f"        {names.rstrip()} = {call}" if results else f"        {call}"
    yield f"        return ({''.join(f'{_value(each)}, ' for each in graph['outputs']).rstrip()})"


def _is_path(target: str) -> bool:
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in target.split("."))


def _typed(name: str, types: Mapping[str, Any]) -> str:
    """Return a name with the type of its tensor."""
    told = types.get(name)
    if not isinstance(told, dict) or not name.isidentifier():
        return name
    number = told.get("dtype")
    dtype = _DTYPES[number] if isinstance(number, int) and 0 < number < len(_DTYPES) else "?"
    sizes = ", ".join(_value(size) for size in told.get("sizes", ()))
    shown = f"{dtype}[{sizes}]"
    return f"{name}: {json.dumps(shown)}"


def _value(argument: Any, depth: int = 0) -> str:
    """Return an argument, which says its kind: ``{"as_int": 2}``."""
    if depth > _DEEPEST:
        return "…"
    if isinstance(argument, list):
        return f"[{', '.join(_value(each, depth + 1) for each in argument)}]"
    if not isinstance(argument, dict):
        return repr(argument)
    if isinstance(argument.get("name"), str):
        return str(argument["name"])
    if isinstance(argument.get("expr_str"), str):
        return _SYMBOL.sub(r"\1", str(argument["expr_str"]))
    for kind, inner in argument.items():
        if kind == "as_none":
            return "None"
        if kind in ("as_string", "as_str"):
            return repr(inner)
        if kind.startswith("as_"):
            return _value(inner, depth + 1)
    return json.dumps(argument)[:200]


def _user_line(stack: str) -> str:
    """Return the innermost line of a stack, as torch.fx writes it above a node."""
    lines = [line.strip() for line in stack.splitlines() if line.strip()]
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].startswith('File "'):
            file, _, rest = lines[at][len('File "') :].partition('", line ')
            number, _, function = rest.partition(", in ")
            code = lines[at + 1] if at + 1 < len(lines) else ""
            return f"File: {file}:{number} in {function}, code: {code}"
    return ""
