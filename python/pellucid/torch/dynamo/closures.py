# SPDX-License-Identifier: Apache-2.0
"""Sources that need an enclosing function, since ``nonlocal`` is only valid inside one.

A file nests the function in one that binds its free variables.  The code that runs is compiled from
the same lines without the enclosing function, whose cells the real closure replaces.
"""

from __future__ import annotations

import textwrap
from typing import Iterable

from pellucid.dump.model.names import identifier

_INDENT = "    "
_NOTE = "# closes over these; the real function has their cells"


def wrap(source: str, free: Iterable[str], outer: str, inner: str) -> str:
    """Put a ``def`` into a function that binds its free variables and returns it.

    >>> print(wrap("def f():\\n    nonlocal n\\n    n = 1", ["n"], "closure", "f"))
    def closure():
        n = None  # closes over these; the real function has their cells
        def f():
            nonlocal n
            n = 1
        return f
    """
    names = [name if name.isidentifier() else identifier(name) for name in free]
    bound = " = ".join([*names, "None"])
    body = textwrap.indent(source.strip("\n"), _INDENT)
    return f"def {outer}():\n{_INDENT}{bound}  {_NOTE}\n{body}\n{_INDENT}return {inner}"


def unwrap(text: str) -> str:
    """Undo :func:`wrap`, keeping line numbers; other text is returned unchanged.

    >>> print(unwrap(wrap("def f():\\n    nonlocal n\\n    n = 1", ["n"], "closure", "f")).strip())
    def f():
        nonlocal n
        n = 1
    """
    lines = text.split("\n")
    noted = [number for number, line in enumerate(lines) if line.endswith(_NOTE)]
    if not noted:
        return text
    first = noted[0]
    last = max(n for n, line in enumerate(lines) if line.startswith(f"{_INDENT}return "))
    lines[first - 1] = lines[first] = lines[last] = ""
    for number in range(first, last):
        if lines[number].startswith(_INDENT):
            lines[number] = lines[number][len(_INDENT) :]
    return "\n".join(lines)
