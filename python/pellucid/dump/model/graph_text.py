# SPDX-License-Identifier: Apache-2.0
"""Parser of a dumped graph: its nodes, with their lines.

torch.fx prints one node per line; a comment above the nodes computed by one line of user code names
that line.  Information that the text lacks (modules) is passed in.
"""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import replace
from typing import Any, Mapping, Sequence

from .events import Place
from .modules import ModulePath, modules_of_text
from .needs import DTYPES
from .nodes import Node

_CLASS = re.compile(r"( *)class (\w+)\(")
_FORWARD = re.compile(r" +def forward\((.*)")
_PARAMETER = re.compile(
    r"\*{0,2}(\w+)(?: ?: ?(?:\"([^\"]*)\"|[\w.]+(?:\[[^\]]*\])?))?(?: ?= ?\w+)?"
)
_DECLARED = re.compile(r" +(\w+): \"([^\"]*)\"(?:  #.*)?$")
_COMMENT = re.compile(r"  #.*$")
_END_OF_HEADER = re.compile(r"\)(?: *-> *[^:]+)?:\s*$")
_FLATTENED = re.compile(r" +(.+,) = fx_pytree\.tree_flatten_spec\(")
_NODE = re.compile(r" +(\w+)(?:: \"([^\"]*)\")? = (.+)")
_IN_PLACE = re.compile(r" +(.+?);  (\w+)(?:: \"([^\"]*)\")? = (\w+)(?:;|$)")
_DELETED = re.compile(r";  (?:\w+ = )+None(?:  #.*)?$")
FILE_COMMENT = r"#(?: [^:\n]*:)? File: "
"""The start of a comment that names a user's line; torch 2.15 marks those of the backward pass."""

_FILE = re.compile(rf" +{FILE_COMMENT}(.+?):(\d+) in (.*?)(?:, code: |$)")
_NO_PLACE = re.compile(r" +# No stacktrace found")
_RETURN = re.compile(r" +return\b ?(.*)")
_TENSOR = re.compile(r"(?:\w+\()?(\w+)\[([^\]]*)\](?:\[([^\]]*)\])?([^)]*)\)?\Z")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?! = )")
_STRING_OR_NAME = re.compile(f"{_STRING.pattern}|{_NAME.pattern}")
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\(")
_OF_SELF = re.compile(r"((?:getattr\()*self(?:\.\w+|, \"[\w.]+\"\))+)(\(?)")
_STEP = re.compile(r"\.(\w+)|, \"([\w.]+)\"\)")


def nodes_of_text(text: str, modules: Mapping[str, ModulePath] | None = None) -> tuple[Node, ...]:
    """Return the nodes of a dumped graph, with their lines in this text.

    Args:
        text: the whole file.
        modules: the user's modules of each node, by name; by default, those in the file's comments.

    >>> graph = 'class G(M):\\n  def forward(self, x: "f32[2]"):\\n    y: "f32[2]" = x + 1\\n'
    >>> [(node.name, node.op, node.target, node.line, node.args) for node in nodes_of_text(graph)]
    [('x', 'placeholder', 'x', 2, ()), ('y', 'call_function', 'operator.add', 3, ('x',))]
    """
    return _Reader(modules_of_text(text) if modules is None else modules).read(text)


def graph_hash(nodes: Sequence[Node], lines: Sequence[str]) -> str:
    """Return a hash that is equal exactly for graphs with the same operations, sizes and edges.

    Constants count; names of nodes and the user's lines do not.

    Args:
        nodes: the nodes of the graph.
        lines: the lines of its file.
    """
    digest = hashlib.sha256()
    numbers: dict[tuple[str, str], int] = {}

    def number_of(found: re.Match[str]) -> str:
        return str(numbers.get((node.graph, found[0]), found[0]))

    for number, node in enumerate(nodes):
        numbers[node.graph, node.name] = number
        meaning = ""
        if node.op != "placeholder":
            statement = _DELETED.sub("", lines[node.line - 1].strip())
            meaning = _STRING_OR_NAME.sub(number_of, statement)
        row = (node.op, meaning, node.shape, node.dtype, node.stride, node.device)
        digest.update(repr(row).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


class _Reader:
    """Parses the lines of one file from top to bottom."""

    def __init__(self, modules: Mapping[str, ModulePath]) -> None:
        self.nodes: list[Node] = []
        self._modules = modules
        self._classes: list[tuple[int, str]] = []
        self._graph = ""
        self._known: set[str] = set()
        self._place: Place | None = None
        self._inputs: dict[str, int] = {}
        """The parameters of the current graph by name, with their indices in ``nodes``."""
        self._in_header = False
        self._are_listed = False
        """Whether the parameters are lists that contain the inputs."""

    def read(self, text: str) -> tuple[Node, ...]:
        """Return the nodes in the order of their lines."""
        for number, line in enumerate(text.split("\n"), start=1):
            inside = line.startswith(" ")
            if self._in_header and inside:
                self._header(line, number)
            elif inside or line.startswith("class "):
                self._line(line, number)
            elif line.startswith(("def ", "if ")) and self._classes:
                break  # the code that runs the graph
        return tuple(self.nodes)

    def _line(self, line: str, number: int) -> None:
        if line.lstrip(" ").startswith("#"):
            self._comment(line)
            return
        found = _CLASS.match(line)
        if found:
            # Nest in the enclosing class; without one, this is the graph itself.
            indent = len(found[1])
            outer = [entry for entry in self._classes if entry[0] < indent]
            self._classes = [*outer, (indent, found[2])]
            self._graph = ".".join(name for _, name in self._classes[1:])
            return
        found = _FORWARD.match(line)
        if found and self._classes:
            self._place, self._known, self._inputs, self._are_listed = None, set(), {}, False
            self._header(found[1], number)
        elif self._classes:
            self._statement(line, number)

    def _comment(self, line: str) -> None:
        found = _FILE.match(line)
        if found:
            self._place = Place(found[1], int(found[2]), found[3])
        elif _NO_PLACE.match(line):
            self._place = None

    # -- inputs --

    def _header(self, line: str, number: int) -> None:
        """Parse the parameters of a ``forward``, on one line or several."""
        line = _COMMENT.sub("", line)
        end = _END_OF_HEADER.search(line)
        self._in_header = end is None
        self._declare(line if end is None else line[: end.start()], number)

    def _declare(self, listed: str, number: int) -> None:
        for name, note in _PARAMETER.findall(listed):
            if name != "self" and name not in self._known:
                self._inputs[name] = len(self.nodes)
                self._add(name, "placeholder", name, number, note)

    def _inputs_are_listed(self) -> None:
        """Drop the parameters, which are lists of the inputs that follow."""
        if not self._are_listed:
            self._are_listed = True
            del self.nodes[len(self.nodes) - len(self._inputs) :]
            self._known, self._inputs = set(), {}

    # -- statements --

    def _statement(self, line: str, number: int) -> None:
        declared, flattened = _DECLARED.match(line), _FLATTENED.match(line)
        if declared or flattened:
            self._inputs_are_listed()
            listed = flattened[1] if flattened else ""
            # The rest of a declaration's line is a comment.
            self._declare(f'{declared[1]}: "{declared[2]}"' if declared else listed, number)
            return
        returned = _RETURN.match(line)
        if returned:
            self._add("output", "output", "output", number, "", returned[1])
            return
        found = _NODE.match(line)
        if found is None:
            found = _IN_PLACE.match(line)
            if found:
                self._add(
                    found[2], "call_function", _in_place(found[1]), number, found[3], found[1]
                )
            return
        name, note, value = found[1], found[2] or "", _DELETED.sub("", found[3])
        if value in self._inputs:  # torch.fx renames some inputs
            at = self._inputs.pop(value)
            self.nodes[at] = replace(self.nodes[at], name=name, line=number)
            self._known = (self._known - {value}) | {name}
            return
        op, target, rest = self._called(value)
        self._add(name, op, target, number, note, rest)

    def _called(self, value: str) -> tuple[str, str, str]:
        """Return an expression's operation, its target, and the text with its arguments."""
        found = _OF_SELF.match(value)
        if found:
            target = ".".join("".join(step) for step in _STEP.findall(found[1]))
            return "call_module" if found[2] else "get_attr", target, value[found.end() :]
        found = _CALLED.match(value)
        if found:
            owner, _, method = found[1].partition(".")
            if owner in self._known and method:
                return "call_method", method, value
            return "call_function", found[1], value[found.end() :]
        return "call_function", _operator(value), value

    def _add(
        self, name: str, op: str, target: str, line: int, note: str, arguments: str = ""
    ) -> None:
        text = _STRING.sub("''", arguments)
        args = tuple(dict.fromkeys(n for n in _NAME.findall(text) if n in self._known))
        described = _described(note) if note else {}
        module = () if self._graph else self._modules.get(name, ())
        place = None if op == "placeholder" else self._place
        node = Node(
            name,
            op,
            target,
            line,
            place,
            args=args,
            module=module,
            graph=self._graph,
            **described,
        )
        self._known.add(name)
        self.nodes.append(node)


def _described(note: str) -> dict[str, Any]:
    """Return the dtype, sizes, strides and device in an annotation."""
    found = _TENSOR.match(note)
    if found is None or found[1] not in DTYPES:
        return {"dtype": note} if note.startswith("Sym(") else {}
    return {
        "dtype": DTYPES[found[1]],
        "shape": _sizes(found[2]),
        "stride": None if found[3] is None else _sizes(found[3]),
        "device": found[4],
    }


def _sizes(text: str) -> tuple[str, ...]:
    """Return the sizes in a list; symbolic sizes can contain commas.

    >>> _sizes("2, s0 + Max(1, s1), 8"), _sizes("")
    (('2', 's0 + Max(1, s1)', '8'), ())
    """
    if "(" not in text:
        return tuple(text.split(", ")) if text else ()
    sizes, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            sizes.append(text[start:at].strip())
            start = at + 1
    return (*sizes, text[start:].strip())


_OPERATORS: Mapping[type, str] = {
    **{ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.Mod: "mod"},
    **{ast.FloorDiv: "floordiv", ast.MatMult: "matmul", ast.Pow: "pow", ast.LShift: "lshift"},
    **{ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"},
    **{ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "inv", ast.Not: "not_"},
    **{ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"},
    **{ast.Is: "is_", ast.IsNot: "is_not", ast.In: "contains"},
}


def _operator(value: str) -> str:
    """Return the function for an expression that is not a call: ``operator.add``.

    >>> _operator("x[0]"), _operator("x @ y"), _operator("x.grad"), _operator("x < 2")
    ('operator.getitem', 'operator.matmul', 'getattr', 'operator.lt')
    """
    try:
        node: Any = ast.parse(value, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    if isinstance(node, ast.Subscript):
        return "operator.getitem"
    if isinstance(node, ast.Attribute):
        return "getattr"
    kind = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
    name = _OPERATORS.get(type(kind))
    return "" if name is None else f"operator.{name}"


def _in_place(statement: str) -> str:
    """Return the function for a statement that mutates a value: ``operator.setitem``."""
    target, _, _ = statement.partition(" = ")
    if target != statement and target.endswith("]"):
        return "operator.setitem"
    try:
        tree = ast.parse(statement).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return ""
    name = _OPERATORS.get(type(tree.op)) if isinstance(tree, ast.AugAssign) else None
    return "" if name is None else f"operator.i{name.rstrip('_')}"
