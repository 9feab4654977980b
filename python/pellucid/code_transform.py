# SPDX-License-Identifier: Apache-2.0
"""Source whose code object can stand in for another, under the names of depyf's.

pellucid itself makes code objects fit (:mod:`pellucid.recompile`) and leaves the source alone; this
is for programs written for depyf that compile the text themselves.
"""

from __future__ import annotations

from types import CodeType
from typing import List, Optional

from pellucid.utils import collect_all_code_objects

__all__ = ["add_indentation", "fix_irregular_code", "remove_indentation"]


def add_indentation(code: str, indentation: int = 4) -> str:
    """Indent every line.

    >>> add_indentation("x = 1\\n")
    '    x = 1\\n'
    """
    return "".join(f"{' ' * indentation}{line}\n" for line in code.splitlines())


def remove_indentation(code: str, indentation: int = 4) -> str:
    """Take an indentation off every line.

    >>> remove_indentation("    x = 1\\n")
    'x = 1\\n'
    """
    return "".join(f"{line[indentation:]}\n" for line in code.splitlines())


def fix_irregular_code(
    old_bytecode: CodeType,
    src_code: str,
    add_local_variables: Optional[List[str]] = None,
    add_cellvars: Optional[List[str]] = None,
) -> str:
    """Return source that compiles to a function with at least the names of another's.

    Args:
        old_bytecode: the code object that has the names.
        src_code: one function, its head on the first line and its body on the lines below.
        add_local_variables: locals to bind in any case.
        add_cellvars: names that a function within has to use in any case.

    Returns:
        The source; a function with free variables stands inside one that has them.

    Raises:
        SyntaxError: the source does not compile.

    >>> def outer(cell):
    ...     return lambda a: (a, cell)
    >>> print(fix_irregular_code(outer(1).__code__, "def f(a):\\n    return a"))
    def __helper_outer_function():
        cell = None
        def f(a):
            return a
    <BLANKLINE>
    """
    name = src_code.split("(")[0].split()[-1]
    whole = _with_names(old_bytecode, src_code, add_local_variables or [], add_cellvars or [])
    (code,) = [c for c in collect_all_code_objects(_compiled(whole)) if c.co_name == name][:1]
    locals_ = {*old_bytecode.co_varnames} - {*code.co_varnames}
    cells = {*old_bytecode.co_cellvars} - {*code.co_cellvars}
    if not locals_ and not cells:
        return whole
    # What the source does not bind either would be a global.
    locals_ |= {*(add_local_variables or []), *(cells - {*code.co_varnames})}
    cells |= {*(add_cellvars or [])}
    return _with_names(old_bytecode, src_code, sorted(locals_), sorted(cells))


def _compiled(text: str) -> CodeType:
    code: CodeType = compile(text, "noname", "exec", dont_inherit=True)
    return code


def _with_names(old: CodeType, source: str, locals_: List[str], cells: List[str]) -> str:
    head, _, body = source.strip("\n").partition("\n")
    lines = [head]
    if locals_:
        bound = "; ".join(f"{name} = None" for name in locals_)
        lines.append(f"    {bound}  # as many locals as the original has")
    if cells:
        lines.append("    def __helper_for_cellvars():  # and as many cells")
        lines.append(f"        return {', '.join(cells)}")
    text = "\n".join([*lines, *body.split("\n")]).rstrip("\n") + "\n"
    if not old.co_freevars:
        return text
    free = "".join(f"    {name} = None\n" for name in old.co_freevars)
    return f"def __helper_outer_function():\n{free}{add_indentation(text)}"
