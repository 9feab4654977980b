# SPDX-License-Identifier: Apache-2.0
"""Names for the unnamed temporaries of a decompiled frame.

The decompiler numbers its temporaries (``temp_1``), and Dynamo numbers its own (``tmp_3``).  The
use and origin of a value give better names: the parameter of the resume function that takes it, the
function that returned it, the test that it decides.  Everything here is pure text.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from typing import Collection, Iterable, Iterator, Mapping, Sequence

from pellucid.dump.model.dynamo_names import CONTEXT, GRAPH, RESUME
from pellucid.dump.model.expressions import walk
from pellucid.dump.model.origin import Parameters

_OURS = re.compile(r"(?:temp|result|condition|iterator)_\d+\Z")
_NO_NAME = re.compile(r"___|__nested_|__is_tracing|\.")
_LONGEST = 40
_BUILTINS = frozenset(dir(builtins))
# The dictionaries in which a module stores its parts.
_HOLDERS = ("_modules", "_parameters", "_buffers")
# Dynamo's read of a tensor's property, with the dimension.
_PROPERTY = re.compile(r"call_(size|stride|storage_offset)\Z")
_CALLED = {"iter": "iterator", "record_pregraph_bytecode_enter": "profiler_mark"}
# One of Dynamo's globals with a function of some module.
_OF_MODULE = re.compile(r"___module_(\w+)_c\d+\Z")


def named(source: str, temporaries: Collection[str], parameters: Parameters) -> str:
    """Rename the temporaries of one decompiled function after what they contain.

    ``temporaries`` are Dynamo's own locals; the decompiler's are recognized by their form.

    >>> print(named("def f(a):\\n    temp_1 = a.tolist()\\n    return [temp_1]", (), {}))
    def f(a):
        tolist_result = a.tolist()
        return [tolist_result]
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    nodes = walk(tree)
    names = [node for node in nodes if isinstance(node, ast.Name)]
    wanted = dict.fromkeys(_temporaries(names, frozenset(temporaries)))
    if not wanted or any(
        isinstance(node, (ast.Global, ast.Nonlocal)) and not wanted.keys().isdisjoint(node.names)
        for node in nodes
    ):
        return source
    said = _Said(nodes, wanted, parameters).names
    taken = {node.id for node in names if node.id not in wanted}
    taken |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    taken |= {*_BUILTINS, *keyword.kwlist}
    chosen = {}
    numbers: dict[str, int] = {}
    for name in wanted:
        chosen[name] = _free(said.get(name, "value"), taken, numbers)
        taken.add(chosen[name])
    return _replaced(source, names, chosen)


def _temporaries(names: Iterable[ast.Name], known: Collection[str]) -> Iterator[str]:
    seen = set()
    ordered = sorted(names, key=lambda node: (node.lineno, node.col_offset))
    for node in ordered:
        is_one = node.id in known or _OURS.match(node.id)
        if is_one and isinstance(node.ctx, ast.Store) and node.id not in seen:
            seen.add(node.id)
            yield node.id


def _free(name: str, taken: Collection[str], numbers: dict[str, int]) -> str:
    """Return the name, or the name with the first free number; ``numbers`` has where to start."""
    if name in _BUILTINS and f"{name}_" not in taken:
        return f"{name}_"
    candidate, number = name, numbers.get(name, 1)
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    numbers[name] = number
    return candidate


class _Said:
    """The names derived from the source for each temporary; the first one counts."""

    def __init__(
        self, nodes: Sequence[ast.AST], wanted: Collection[str], parameters: Parameters
    ) -> None:
        self.names: dict[str, str] = {}
        self._wanted = frozenset(wanted)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._passed(node, parameters)
        for node in nodes:
            if isinstance(node, (ast.If, ast.While)):
                test = node.test
                while isinstance(test, ast.UnaryOp):
                    test = test.operand
                self._say(test, "condition")
        # In text order: the value's operands have their names by then.  A constant is the weakest
        # hint for a name, so it comes last.
        made = [n for n in nodes if isinstance(n, (ast.For, ast.Assign, ast.NamedExpr))]
        made.sort(key=lambda node: (_is_constant(node), node.lineno, node.col_offset))
        for node in made:
            if isinstance(node, ast.For):
                self._items(node)
            elif isinstance(node, ast.NamedExpr):
                self._made(node.target, node.value)
            elif len(node.targets) == 1:
                self._made(node.targets[0], node.value)

    def _say(self, node: ast.AST, name: str) -> None:
        name = re.sub(r"\W+", "_", name, flags=re.ASCII)[:_LONGEST].strip("_")
        if not isinstance(node, ast.Name) or node.id not in self._wanted:
            return
        if name.isidentifier() and not keyword.iskeyword(name):
            self.names.setdefault(node.id, name)

    def _passed(self, call: ast.Call, parameters: Parameters) -> None:
        callee = call.func
        while isinstance(callee, ast.Call):
            callee = callee.func  # a resume function created from its cells first
        found = RESUME.match(callee.id) if isinstance(callee, ast.Name) else None
        if found is None:
            return
        for names in parameters.get(int(found[1]), ()):
            if len(names) != len(call.args):
                continue
            for argument, name in zip(call.args, names):
                if _NO_NAME.match(name):
                    continue
                self._say(argument, name)
                if isinstance(argument, (ast.List, ast.Tuple)):
                    for number, item in enumerate(argument.elts):
                        self._say(item, f"{name}_{number}")

    def _items(self, loop: ast.For) -> None:
        source, target = loop.iter, loop.target
        is_items = (
            isinstance(source, ast.Call)
            and isinstance(source.func, ast.Attribute)
            and source.func.attr == "items"
        )
        if is_items and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            self._say(target.elts[0], "key")
            self._say(target.elts[1], "value")
        self._say(target, "item")

    def _made(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                for one, of in zip(target.elts, value.elts):
                    self._made(one, of)
            elif _is_graph(value):
                for item in target.elts:
                    self._say(item, "output")
            return
        if isinstance(target, ast.Name) and CONTEXT.match(target.id):
            self._say(target, "manager")
        self._say(target, self._name_of(value))

    def _name_of(self, value: ast.expr) -> str:
        """Return a name for the value of an expression, in a word or two."""
        if _is_graph(value):
            return "outputs" if isinstance(value, ast.Call) else "output"
        if isinstance(value, ast.Call):
            return self._name_of_call(value)
        if isinstance(value, ast.Name):
            return f"{self._word(value)}_before"
        if isinstance(value, ast.Attribute):
            return self._in_module(value) or value.attr.strip("_")
        if isinstance(value, ast.Subscript):
            return self._in_module(value) or self._name_of_item(value)
        if isinstance(value, ast.Dict):
            return "mapping"
        if isinstance(value, (ast.List, ast.Tuple)):
            return "cells" if value.elts and all(map(_is_cell, value.elts)) else "items"
        return "condition" if isinstance(value, ast.Compare) else "value"

    def _in_module(self, node: ast.expr) -> str:
        """Return a name for a part of a module: fc_bias for ``…["fc"]._parameters["bias"]``."""
        if isinstance(node, ast.Attribute) and node.attr not in _HOLDERS:
            return ""
        words: list[str] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                if words and node.attr not in _HOLDERS:
                    break
                # The holder's name describes the content until a key names it.
                words[:0] = [] if words else [node.attr]
            else:
                key = _text_of_key(node)
                if not key or not self._is_holder(node.value):
                    return ""
                words[:0] = [key]
            node = node.value
        if isinstance(node, ast.Name) and node.id in self._wanted:
            name = re.sub(r"_?(?:modules|parameters|buffers)\Z", "", self.names.get(node.id, ""))
            words[:0] = [name] if name else []
        while len(words) > 1 and len("_".join(words)) > _LONGEST:
            del words[0]
        text = re.sub(r"_{2,}", "_", "_".join(words)).strip("_")
        return f"module_{text}" if text[:1].isdigit() else text

    def _is_holder(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in _HOLDERS
        name = self.names.get(node.id, "") if isinstance(node, ast.Name) else ""
        return name.endswith(tuple(holder.strip("_") for holder in _HOLDERS))

    def _word(self, node: ast.expr) -> str:
        """Return the name of a variable or attribute, without our own suffixes."""
        if isinstance(node, ast.Attribute):
            return node.attr.strip("_")
        name = node.id if isinstance(node, ast.Name) else ""
        name = _OF_MODULE.sub(r"\1", name)
        if name in self._wanted:
            name = self.names.get(name, "")
            name = name[: -len("_before")] if name.endswith("_before") else name
        return re.sub(r"_{2,}\d*", "_", name).strip("_")

    def _name_of_item(self, item: ast.Subscript) -> str:
        given = _key(item)
        if isinstance(given, str) and given.isidentifier():
            return given.strip("_") or "item"
        word = self._word(item.value)
        if isinstance(given, (str, int)) and word:
            return f"{word}_{given}"
        return f"{word}_item" if word else "item"

    def _name_of_call(self, call: ast.Call) -> str:
        callee = call.func
        if isinstance(callee, ast.Attribute) and callee.attr == "_create_nested_fn":
            name = call.args[2] if len(call.args) > 2 else None
            given = name.value if isinstance(name, ast.Constant) else None
            if isinstance(given, str):
                return given if given.isidentifier() else f"{given.strip('<>')}_function"
        if isinstance(callee, ast.Attribute) and callee.attr == "format" and _is_constant(callee):
            return "text"
        word = self._word(callee)
        if word in _CALLED:
            return _CALLED[word]
        asked = _PROPERTY.match(word)
        if asked and call.args:
            given_too = [a.value for a in call.args[1:] if isinstance(a, ast.Constant)]
            which = "".join(f"_{number}" for number in given_too if isinstance(number, int))
            return f"{self._word(call.args[0])}_{asked[1]}{which}"
        if isinstance(callee, ast.Name) and RESUME.match(callee.id):
            return "resume"
        return f"{word}_result" if word else "result"


def _key(item: ast.Subscript) -> object:
    """Return the constant key of a subscript, or None."""
    key: ast.AST = item.slice
    key = getattr(key, "value", key) if type(key).__name__ == "Index" else key  # up to 3.8
    return key.value if isinstance(key, ast.Constant) else None


def _text_of_key(item: ast.Subscript) -> str:
    key = _key(item)
    return key if isinstance(key, str) else ""


def _is_constant(node: ast.stmt | ast.expr) -> bool:
    """Return true if the value of an assignment or attribute is a constant."""
    return isinstance(getattr(node, "value", None), ast.Constant)


def _is_cell(value: ast.expr) -> bool:
    """Return true for the expression of a cell: ``(lambda: x).__closure__[0]``."""
    return (
        isinstance(value, ast.Subscript)
        and isinstance(value.value, ast.Attribute)
        and value.value.attr == "__closure__"
    )


def _is_graph(value: ast.expr) -> bool:
    if isinstance(value, ast.Subscript):
        value = value.value
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return False
    return GRAPH.match(value.func.id) is not None


def _replaced(source: str, names: Iterable[ast.Name], chosen: Mapping[str, str]) -> str:
    lines = [line.encode() for line in source.split("\n")]
    places: dict[int, list[tuple[int, str]]] = {}
    for node in names:
        if node.id in chosen:
            places.setdefault(node.lineno - 1, []).append((node.col_offset, node.id))
    for number, found in places.items():
        line, parts, end = lines[number], [], 0
        for start, name in sorted(found):
            old = name.encode()
            if line[start : start + len(old)] != old:
                return source  # a name in an f-string, whose position old Pythons do not record
            parts += [line[end:start], chosen[name].encode()]
            end = start + len(old)
        lines[number] = b"".join([*parts, line[end:]])
    return b"\n".join(lines).decode()
