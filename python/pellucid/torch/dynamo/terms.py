# SPDX-License-Identifier: Apache-2.0
"""Explanations of names in a transformed frame that a reader cannot know: Dynamo's, and constants.

Each is explained in a line above the function.  The program's objects are described only by their
types and names, so none of their code runs.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import textwrap
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Iterable, Mapping, Sequence

from pellucid.dump.model.dynamo_names import RESUME, STACK
from pellucid.dump.model.expressions import walk
from pellucid.dump.model.names import is_resumed

from .user_lines import line_at, resumed_line

_NAME = re.compile(r"\b(?:(?:_const_|_code_|__)\w+|fn\b)")
_NESTED = ("__nested_resume_fns", "__nested_frame_values")
_SAID: Mapping[str, str] = {
    "__builtins_dict__": "the dict of built-in names",
    "__gen_rand_values": "torch's function that draws all of Python's random numbers in this frame",
}
_CELL = re.compile(r"\(lambda: (\w+)\)\.__closure__\[0\]")
_LONGEST = 80
_MOST_LINES = 40


def terms(source: str, constants: Mapping[str, Any], stack: Mapping[str, str]) -> list[str]:
    """Explain the generated names in a source, in order of appearance.

    ``constants`` are those that the source refers to by name; ``stack`` describes the parameters of
    a resume function that hold stack values, and other variables of torch's.

    >>> terms("f(_const_list, ___stack0)", {"_const_list": [1, 2]}, {"___stack0": "g() of [0/0]"})
    ['_const_list: [1, 2]', '___stack0: g() of [0/0]']
    """
    found: dict[str, str] = {}
    nested = [name for name in _NESTED if re.search(rf"\b{name}\b", source)]
    for name in dict.fromkeys(_NAME.findall(source)):
        if name in constants:
            value = constants[name]
            found[name] = _code(value) if isinstance(value, CodeType) else described(value)
        elif name in _SAID:
            found[name] = _SAID[name]
        elif name in stack or STACK.match(name):
            found[name] = stack.get(name, "a value on Python's stack at the graph break")
        elif nested and name == nested[0]:
            found[", ".join(nested)] = (
                "used by torch for graph breaks in functions that are called here"
            )
    cell = _CELL.search(source)
    if cell is not None:
        found[cell[0]] = f"the variable {cell[1]} itself, for the function that shares it"
    return [f"{name}: {what}" for name, what in found.items()]


def described(value: Any) -> str:
    """Describe a value without running its own code.

    >>> described((1, "a")), described(len), described(int), described(object())
    ("(1, 'a')", 'the built-in function len', 'the class int', 'an object of the class object')
    """
    kind = type(value)
    if kind is ModuleType:
        return f"the module {value.__name__}"
    if kind is dict and type(value.get("__name__")) is str and "__builtins__" in value:
        return f"the globals of the module {value['__name__']}"
    if kind is MethodType and type(value.__func__) is FunctionType:
        return f"a method of an object: {value.__func__.__qualname__}"
    if kind is FunctionType:
        code = value.__code__
        place = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
        return f"the function {value.__qualname__}, {place}"
    if kind is BuiltinFunctionType:
        return f"the built-in function {value.__name__}"
    if issubclass(kind, type):
        return f"the class {type.__dict__['__qualname__'].__get__(value)}"
    if (kind.__module__, kind.__name__) == ("torch", "Size"):
        return f"torch.Size({list(tuple.__iter__(value))!r})"
    if (kind.__module__, kind.__name__) in (("torch", "device"), ("torch", "dtype")):
        return f"torch.{str(repr(value)).replace('torch.', '')}"
    if (kind.__module__, kind.__name__) == ("pellucid.pickle_tree", "Opaque"):
        return repr(value)[:_LONGEST]
    text = _literal(value)
    if text is not None and len(text) <= _LONGEST:
        return text
    return f"an object of the class {kind.__name__}"


def _literal(value: Any, depth: int = 3) -> str | None:
    kind = type(value)
    if value is None or kind in (bool, int, float, complex, str, bytes):
        return repr(value)
    if kind not in (tuple, list, set, frozenset, dict) or len(value) > 16 or not depth:
        return None
    inside = [*value, *value.values()] if kind is dict else list(value)
    return None if any(_literal(item, depth - 1) is None for item in inside) else repr(value)


def _code(code: CodeType) -> str:
    """Return the body of a function or class that the frame creates, as the user wrote it."""
    place = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    text = code_text(code)
    if is_resumed(code.co_name) or not text:
        return f"the code of {code.co_name}, {place}"
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
    return f"the code of {code.co_name}, {place}:\n" + "\n".join(f"    {line}" for line in lines)


def code_text(code: CodeType) -> str:
    """Return the source lines of a function, class or lambda in its file; empty if unavailable."""
    lines = linecache.getlines(code.co_filename)
    if not 0 < code.co_firstlineno <= len(lines):
        return ""
    try:
        block = inspect.getblock(lines[code.co_firstlineno - 1 :])
    except (SyntaxError, IndexError, ValueError):
        return ""
    return textwrap.dedent("".join(block)).rstrip()


def stack_values(resumed: CodeType, source: str, original: CodeType, where: str) -> dict[str, str]:
    """Describe the stack values in each parameter of a resume function.

    The frame that calls it is given by its source, its original code, and its name.  The call is
    that of a function which resumes at the same line as ``resumed`` with as many arguments.
    """
    names = resumed.co_varnames[: resumed.co_argcount]
    wanted = [n for n, name in enumerate(names) if STACK.match(name)]
    line = resumed_line(resumed) if wanted else None
    nodes = [] if line is None else walk(ast.parse(source))
    for call in nodes:
        arguments = _goes_on(call, original, line)
        if arguments is not None and len(arguments) == len(names):
            return {names[n]: f"{_said(arguments[n], nodes)} in [{where}]" for n in wanted}
    return {}


def _goes_on(node: ast.AST, code: CodeType, line: int | None) -> Sequence[ast.expr] | None:
    if not isinstance(node, ast.Call):
        return None
    callee = node.func
    while isinstance(callee, ast.Call):
        callee = callee.func  # a resume function created from its cells first
    found = RESUME.match(callee.id) if isinstance(callee, ast.Name) else None
    goes_on = found is not None and line_at(code, int(found[1])) == line
    return node.args if goes_on else None


def _said(node: ast.expr, nodes: Iterable[ast.AST]) -> str:
    """Return an argument, and if it is a name, the value assigned to it."""
    text = _written(node)
    if not isinstance(node, ast.Name):
        return text
    if STACK.match(node.id):
        return f"the same as {node.id}"
    for other in nodes:
        if isinstance(other, ast.Assign) and _written(other.targets[0]) == text:
            return f"{text} = {_written(other.value)}"
    return text


def _written(node: ast.expr) -> str:
    unparse = getattr(ast, "unparse", None)  # 3.9
    text = unparse(node) if unparse is not None else getattr(node, "id", "an expression")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
