# SPDX-License-Identifier: Apache-2.0
"""Code that counts its calls: it calls a C function before its first statement.

No Python function runs for that, so tracers and Dynamo do not see it, and line numbers do not
change.
"""

from __future__ import annotations

import ast

COUNT = "__pellucid_count__"
"""The name of the counter in the text; it is a constant of the code."""
_FIRST = {
    "If": "test",
    "For": "iter",
    "With": "items",
    "Match": "subject",
    "Try": "body",
    "TryStar": "body",
}
"""The part of a compound statement that runs first, and runs once."""


def counted(text: str) -> str | None:
    """Return a function's text with a counter call inserted; None if no line has room for it.

    >>> print(counted("def f(x):\\n    y = x\\n    return y"))
    def f(x):
        __pellucid_count__(); y = x
        return y
    >>> print(counted("def f(x):\\n    # why\\n    if x:\\n        pass"))
    def f(x):
        # why
        if (__pellucid_count__(), (x))[1]:
            pass
    """
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1:
        return None
    body = functions[0].body
    if ast.get_docstring(functions[0], clean=False) is not None:
        body = body[1:]
    return _with_count(text.split("\n"), body[0]) if body else None


def _with_count(lines: list[str], first: ast.AST) -> str | None:
    """Return the lines with a counter call at the start of a statement."""
    while type(first).__name__ in _FIRST:
        part = getattr(first, _FIRST[type(first).__name__])
        first = part[0] if isinstance(part, list) else part
    if isinstance(first, ast.withitem):
        first = first.context_expr
    if isinstance(first, ast.expr):
        return _around(lines, first)
    if not isinstance(first, ast.stmt) or hasattr(first, "body"):
        return None
    at, indent = first.lineno - 1, " " * first.col_offset
    if lines[at][: len(indent)] != indent:
        return None  # it shares a line with the `def`
    lines[at] = f"{indent}{COUNT}(); {lines[at][len(indent) :]}"
    return "\n".join(lines)


def _around(lines: list[str], value: ast.expr) -> str:
    """Return the lines with a counter call before a value is computed."""
    end = (value.end_lineno or value.lineno) - 1
    for at, column, added in (
        (end, value.end_col_offset or 0, "))[1]"),
        (value.lineno - 1, value.col_offset, f"({COUNT}(), ("),
    ):
        line = lines[at].encode()  # columns count bytes
        lines[at] = (line[:column] + added.encode() + line[column:]).decode()
    return "\n".join(lines)
