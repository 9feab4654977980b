"""The global names that a ``full_code_for_*`` file uses, bound so that the file runs by itself.

Modules are imported, graphs and resumed functions come from their own files of the dump, plain
values are written down.  What only the program has (its own functions, classes and containers) is
told in a comment.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import os
import re
import sysconfig
from types import CodeType, FunctionType, ModuleType
from typing import Any, Callable, Iterable, Mapping

from .guard_values import names_in, walk
from .names import as_comment

_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_LONGEST = 200
_INSTALLED = tuple(
    os.path.join(sysconfig.get_paths()[kind], "") for kind in ("stdlib", "purelib", "platlib")
)

FindFile = Callable[[CodeType], "tuple[str, str] | None"]


def global_names(sources: Iterable[str]) -> list[str]:
    """The names that sources use and nowhere bind, sorted; ``G['name']`` is one as well.

    >>> global_names(["def f(a):\\n    return g(a) + len(a)", "x = G['h']"])
    ['g', 'h']
    """
    found: set[str] = set()
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        found |= names_in(tree) - _defined(tree.body)
        if "G[" in source:
            found |= {key for node in walk(tree) for key in _key_of_globals(node)}
    return sorted(found - set(dir(builtins)) - {"L", "G", "VALUES"})


# What generated lines hold: strings and comments to skip, names that are no attribute and no
# keyword of a call.
_STRING = r"(?<!\w)[bBrRuUfF]{0,2}(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
_NAME = r"(?<![\w.])([^\W\d]\w*)(?!\w)(?!\s*=(?!=))"
_WORD = re.compile(rf"{_STRING}|#[^\n]*|{_NAME}")
_STORED = re.compile(r"^([^\W\d]\w*) = ", re.MULTILINE)
_BINDS = re.compile(r"\b(?:for|lambda)\b")
_KEY = re.compile(r"\bG\[('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")\]")


def names_of_guards(lines: Iterable[str]) -> tuple[set[str], set[str]]:
    """The names that the lines of a guard function use and do not bind, and the keys of ``G``.

    There are thousands of such lines in a large model, each a statement of a simple form, so they
    are scanned and not parsed.

    >>> lines = ["x = G['m'].a  # L", "yield EQUALS(x.b, size=[None, cls('f')])"]
    >>> used, keys = names_of_guards(lines)
    >>> sorted(used), keys
    (['EQUALS', 'G', 'cls'], {'m'})
    """
    used: set[str] = set()
    simple: list[str] = []
    for line in lines:
        if _may_bind(line) and _BINDS.search(line):
            used |= names_in(ast.parse(line))  # a binding of its own: rare
        else:
            simple.append(line)
    text = "\n".join(simple)
    used.update(_WORD.findall(text))
    used -= {"", *_STORED.findall(text), *keyword.kwlist}
    return used, {str(ast.literal_eval(key)) for key in _KEY.findall(text)}


def _may_bind(line: str) -> bool:
    return (" for " in line or "lambda" in line) and not line.startswith("#")


def defined_in(source: str) -> set[str]:
    """The names that a source binds at its top level."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return _defined(body)


def _defined(body: Iterable[ast.stmt]) -> set[str]:
    found = {
        node.name for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return found | {target.id for target in targets if isinstance(target, ast.Name)}


def _key_of_globals(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        key = node.slice
        key = getattr(key, "value", key)  # before Python 3.9 there is an Index between
        key = getattr(key, "value", key)
        if node.value.id == "G" and isinstance(key, str):
            yield key


def bindings(
    names: Iterable[str],
    values: Mapping[str, Any],
    graphs: Mapping[str, str],
    find_file: FindFile,
) -> list[str]:
    """Make the lines that bind ``names``.

    Args:
        names: as the file has them.
        values: what they are in the program, by the same names.
        graphs: the files of graphs, by the name that calls them.
        find_file: finds the file, and the name in it, of a code object that was captured.
    """
    lines, lacking = [], []
    for name in names:
        if name in graphs:
            lines.append(f"{name} = graph(globals(), {graphs[name]!r})")
            continue
        line = _binding(name, values[name], find_file) if name in values else None
        if line is None:
            lacking.append(name)
        else:
            lines.append(line)
    if lacking:
        lines.append(as_comment(f"Only the program has: {', '.join(lacking)}"))
    return lines


def _binding(name: str, value: Any, find_file: FindFile) -> str | None:
    if isinstance(value, ModuleType):
        module = value.__name__
        if not _is_installed(value):
            return None
        return f"import {module}" if name == module else f"import {module} as {name}"
    if value is vars(builtins):
        return f'{name} = vars(__import__("builtins"))'
    if isinstance(value, FunctionType):
        found = find_file(value.__code__)
        return None if found is None else f"{name} = resumed(globals(), {found[0]!r}, {found[1]!r})"
    if type(value) in _PLAIN and len(repr(value)) < _LONGEST and "nan" not in repr(value):
        return None if repr(value) in ("inf", "-inf") else f"{name} = {value!r}"
    return None


def _is_installed(module: ModuleType) -> bool:
    """Whether importing a module elsewhere runs nothing of the program."""
    if not all(part.isidentifier() for part in module.__name__.split(".")):
        return False
    file = getattr(module, "__file__", None)
    return file is None or os.path.abspath(file).startswith(_INSTALLED)
