"""Code that counts its calls: one call of a function of C's before its first statement.

No Python function runs for it, so that neither a tracer nor Dynamo sees anything of it, and the
lines of the code stay where they are.
"""

from __future__ import annotations

import ast
import re

COUNT = "__pellucid_count__"
"""The name by which the text calls the counter; it is a constant of the code."""
_COMPOUND = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)
_MORE = tuple(getattr(ast, name) for name in ("Match", "TryStar") if hasattr(ast, name))


def counted(text: str) -> str | None:
    """Return the text of a function with a call of the counter first; None where no line has room.

    >>> print(counted("def f(x):\\n    y = x\\n    return y"))
    def f(x):
        __pellucid_count__(); y = x
        return y
    >>> print(counted("def f(x):\\n    # why\\n    if x:\\n        pass"))
    def f(x):
        __pellucid_count__()
        if x:
            pass
    """
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1:
        return None
    body = functions[0].body
    if ast.get_docstring(functions[0], clean=False) is not None:
        body = body[1:]
    if not body:
        return None
    lines = text.split("\n")
    first = body[0].lineno - 1
    indent = " " * body[0].col_offset
    if not isinstance(body[0], (*_COMPOUND, *_MORE)):
        if lines[first][: len(indent)] != indent:
            return None  # it shares its line with the `def`
        lines[first] = f"{indent}{COUNT}(); {lines[first][len(indent) :]}"
        return "\n".join(lines)
    above = lines[first - 1]
    if re.match(rf"{indent}#", above):
        lines[first - 1] = f"{indent}{COUNT}()"
        return "\n".join(lines)
    return None
