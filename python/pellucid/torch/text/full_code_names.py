# SPDX-License-Identifier: Apache-2.0
"""Bindings for the global names in a ``full_code_for_*`` file, so that the file runs by itself.

Modules are imported, graphs and resume functions come from their own files in the dump, and plain
values are written as literals.  Values that only the program has (its own functions, classes and
containers) are listed in a comment.
"""

from __future__ import annotations

import ast
import builtins
import cmath
import functools
import keyword
import re
from types import CodeType, FunctionType, ModuleType
from typing import Any, Callable, Iterable, Mapping, NamedTuple

from pellucid.dump.model.expressions import names_in, walk
from pellucid.dump.model.installed import is_installed
from pellucid.dump.model.names import as_comment
from pellucid.imported import import_line

_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_LONGEST = 200

FindFile = Callable[[CodeType], "tuple[str, str] | None"]


class Names(NamedTuple):
    """The names that a source binds at top level, and those that it uses without binding them."""

    bound: frozenset[str]
    used: frozenset[str]


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NO_NAMES = Names(frozenset(), frozenset())


@functools.lru_cache(maxsize=256)
def names_of(source: str) -> Names:
    """Return the names in a source; none if it is not Python.

    >>> found = names_of("def f(a):\\n    from b import c\\n    return g(a) + len(c.d)")
    >>> sorted(found.bound), sorted(found.used)
    (['f'], ['g', 'len'])
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return _NO_NAMES
    used: set[str] = set()
    bound: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.ClassDef, *_FUNCTIONS)):
            bound.add(node.name or "")
    return Names(frozenset(_bound(tree.body)), frozenset(used - bound))


def _bound(body: Iterable[ast.stmt]) -> set[str]:
    found = {node.name for node in body if isinstance(node, _FUNCTIONS)}
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return found | {target.id for target in targets if isinstance(target, ast.Name)}


def global_names(sources: Iterable[str]) -> list[str]:
    """Return the names that sources use without binding them, sorted; includes ``G['name']``.

    >>> global_names(["def f(a):\\n    return g(a) + len(a)", "x = G['h']"])
    ['g', 'h']
    """
    found: set[str] = set()
    for source in sources:
        found |= names_of(source).used
        if "G[" in source:
            found |= _keys_of_globals(source)
    return sorted(found - _BUILTINS - {"L", "G", "VALUES"})


_BUILTINS = frozenset(dir(builtins))

# The tokens of generated lines: strings and comments, which are skipped, and names that are neither
# attributes nor keywords of a call.
_QUOTED = r"(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\")"
_NAME = r"([^\W\d]\w*)(?!\w)(?!\s*=(?!=))"
_WORD = re.compile(rf"[bBrRuUfF]{{0,2}}{_QUOTED}|#[^\n]*|\.\w+|{_NAME}|\w+")
_STORED = re.compile(r"^([^\W\d]\w*) = ", re.MULTILINE)
_BINDS = re.compile(r"\b(?:for|lambda)\b")
_KEY = re.compile(rf"\bG\[(?:kept_\w+\.name\(\d+, )?({_QUOTED})\)?\]")


def names_of_guards(lines: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the names that the lines of a guard function use, and the keys of ``G``.

    A large model has thousands of such lines, each a simple statement, so they are scanned, not
    parsed.

    >>> lines = ["x = G['m'].a  # L", "yield EQUALS(x.b, size=[None, cls('f')])"]
    >>> used, keys = names_of_guards(lines)
    >>> sorted(used), keys
    (['EQUALS', 'G', 'cls'], {'m'})
    """
    used: set[str] = set()
    simple: list[str] = []
    for line in lines:
        if _may_bind(line) and _BINDS.search(line):
            used |= names_in(ast.parse(line))  # a nested scope: rare
        else:
            simple.append(line)
    text = "\n".join(simple)
    used.update(_WORD.findall(text))
    used -= {"", "_", *_STORED.findall(text), *keyword.kwlist}
    return used, _keys_of_globals(text)


def names_bound(lines: Iterable[str]) -> set[str]:
    """Return the names that the lines of a guard function assign.

    >>> sorted(names_bound(["x = L['x']", "yield NONE_MATCH(x)"]))
    ['x']
    """
    return {*_STORED.findall("\n".join(lines))}


def _keys_of_globals(text: str) -> set[str]:
    return {str(ast.literal_eval(key)) for key in {*_KEY.findall(text)}}


def _may_bind(line: str) -> bool:
    return (" for " in line or "lambda" in line) and not line.startswith("#")


def bindings(
    names: Iterable[str],
    values: Mapping[str, Any],
    graphs: Mapping[str, str],
    find_file: FindFile,
) -> list[str]:
    """Return the lines that bind ``names``.

    Args:
        names: the names in the file.
        values: their values in the program, by the same names.
        graphs: the files of graphs, by the name that calls them.
        find_file: returns the file, and the name in it, of a captured code object.

    >>> bindings(["a", "b"], {"a": "nan", "b": float("nan")}, {}, lambda code: None)
    ["a = 'nan'", '# Defined only in the program: b']
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
        lines.append(as_comment(f"Defined only in the program: {', '.join(lacking)}"))
    return lines


def _binding(name: str, value: Any, find_file: FindFile) -> str | None:
    if isinstance(value, ModuleType):
        return import_line(value, name) if _is_installed(value) else None
    if value is vars(builtins):
        return f'{name} = vars(__import__("builtins"))'
    if isinstance(value, FunctionType):
        found = find_file(value.__code__)
        return None if found is None else f"{name} = resumed(globals(), {found[0]!r}, {found[1]!r})"
    has_literal = type(value) in _PLAIN and len(repr(value)) < _LONGEST
    if has_literal and (isinstance(value, (str, bytes)) or value is None or cmath.isfinite(value)):
        return f"{name} = {value!r}"
    return None


def _is_installed(module: ModuleType) -> bool:
    """Return true if importing a module elsewhere runs no user code."""
    if not all(part.isidentifier() for part in module.__name__.split(".")):
        return False
    file = getattr(module, "__file__", None)
    return file is None or is_installed(file)
