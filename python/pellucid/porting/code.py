# SPDX-License-Identifier: Apache-2.0
"""Code of another version of Python for the running one.

The bytecode is decompiled, in the syntax of the running Python, and its source is compiled.  Both
halves are proven: the source, as the running Python parses it, is lowered for the version of the
original and compared with it, and lowered for the running version and compared with the result.
"""

import ast
import bisect
import importlib.util
import marshal
import sys
from types import CodeType
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Tuple

from pellucid import _core
from pellucid.decompilation import prove_pyc
from pellucid.errors import CannotPort
from pellucid.interpreters import compiling
from pellucid.matching.judge import lowered
from pellucid.matching.prepare import has_future_annotations, trimmed
from pellucid.result import Decompilation
from pellucid.verdicts import Verdict

Version = Tuple[int, int]

_RUNNING: Version = sys.version_info[:2]


class Ported(NamedTuple):
    """Code that was ported to the running Python."""

    code: CodeType
    """The code object: of the module, or of the function, class or lambda that was given.  Its
    line numbers are those of the original."""
    source: str
    """What both the original and ``code`` do, as the text of a module."""
    notes: Tuple[str, ...]
    """What the running Python does differently with this source."""
    version: Version
    """The Python version of the original."""

    def __repr__(self) -> str:
        return "<Ported: {} from Python {}.{}>".format(self.code.co_name, *self.version)


def port(
    data: bytes, *, version: Optional[Version] = None, filename: Optional[str] = None
) -> Ported:
    """Return the code object that does in the running Python what other bytecode does in its own.

    No interpreter of the other version is needed, and nothing is executed.

    Args:
        data: a `.pyc` of CPython 3.8 to 3.15, or the output of ``marshal.dumps(code)``.
        version: the Python version of the bytecode, such as ``(3, 8)``, if it has no header.
        filename: the file that the new code names in tracebacks; by default that of the original.

    Raises:
        CannotPort: the running Python cannot express it, or a step cannot be proven.
        DecompileError: the bytes do not contain a code object.
    """
    path, original_file, doubt = _core.subject_of(data, version)
    if doubt:
        raise CannotPort(f"its version is a guess: {doubt}. Pass `version`")
    found, verdict = prove_pyc(data, "relowered", version=version, syntax=_RUNNING)
    if verdict.status == "unproven":
        raise CannotPort(_why_unproven(data, version, verdict))
    tree = _parsed(found.source)
    notes = tuple(_notes(tree, found.version))
    _prove(data, found, found.version)

    def compiled() -> CodeType:
        code = _at(_compiled(tree, filename or original_file), path)
        _prove(to_pyc(code), found, _RUNNING)
        return code

    code = compiled()
    _move(tree, found)
    try:
        code = compiled()
    except CannotPort:  # up to 3.9, far apart lines can turn off optimizations
        notes += ("its line numbers are those of the source",)
    return Ported(code, found.source, notes, found.version)


def to_pyc(code: CodeType) -> bytes:
    """Return a `.pyc` of the running Python, without a date."""
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def _why_unproven(data: bytes, version: Optional[Version], verdict: Verdict) -> str:
    # What has been tried after the usual form has other faults.
    usual = _core.decompile_pyc(data, version=version, syntax=_RUNNING)
    for code, _, message, is_refused in usual.diagnostics:
        if is_refused:
            return f"{code}: {message}"
    for name in usual.renamed.values():
        return f"no source can contain the name {name!r}"
    return f"its source is not proven: {verdict.reason}"


def _parsed(source: str) -> ast.Module:
    try:
        with compiling():
            return ast.parse(source)
    except SyntaxError as error:
        raise CannotPort(_cannot_compile(error)) from error


def _compiled(tree: ast.Module, filename: str) -> CodeType:
    try:
        with compiling():
            code = compile(tree, filename, "exec", dont_inherit=True, optimize=0)
    except SyntaxError as error:
        raise CannotPort(_cannot_compile(error)) from error
    assert isinstance(code, CodeType)
    return code


def _cannot_compile(error: SyntaxError) -> str:
    return f"{_name(_RUNNING)} cannot compile its source: {error.msg} (line {error.lineno})"


def _name(version: Version) -> str:
    return "Python {}.{}".format(*version)


def _prove(data: bytes, found: Decompilation, version: Version) -> None:
    """Prove that code of a version does what the source says. Raises CannotPort."""
    for code in lowered(data, found.source, 0, version):
        if code.status == "unproven":
            raise CannotPort(f"it is not proven for {_name(version)}: {code.place}")


def _move(tree: ast.Module, found: Decompilation) -> None:
    """Give the nodes of a source the lines of the original, without columns."""
    known = [entry for entry in found.line_map if entry.original_line]
    starts = [entry.line for entry in known]
    for node in ast.walk(tree):
        if not hasattr(node, "lineno"):
            continue
        at = bisect.bisect_right(starts, node.lineno) - 1
        line = known[max(at, 0)].original_line if known else 1
        ast_node: Any = node
        ast_node.lineno = ast_node.end_lineno = line
        ast_node.col_offset = ast_node.end_col_offset = -1


def _at(code: CodeType, path: Sequence[str]) -> CodeType:
    """Return the code object at a path of names in a module. Raises CannotPort."""
    for name in path:
        nested = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name]
        if len(nested) != 1:
            raise CannotPort(f"{_name(_RUNNING)} has no separate code object for {name}")
        code = nested[0]
    return code


# Functions whose result shows how local variables are stored, if they are called like this.
_SHOW_LOCALS = {"locals": 0, "vars": 0, "dir": 0, "eval": 1, "exec": 1}


def _notes(tree: ast.Module, original: Version) -> Iterator[str]:
    """Yield what the two versions do differently with one source."""

    def is_between(*version: int) -> bool:
        return min(original, _RUNNING) < version <= max(original, _RUNNING)

    if is_between(3, 14) and not has_future_annotations(tree):
        for line in _lines(tree, _has_annotations):
            yield (
                f"line {line}: annotations are evaluated with the definition up to Python 3.13, "
                "and when they are read since 3.14"
            )
            break
    if is_between(3, 13):
        for line in _lines(tree, _shows_locals):
            yield (
                f"line {line}: since Python 3.13, locals() in a function is a copy each time, and "
                "exec() and eval() work on one"
            )
            break
        for line in _lines(tree, _has_indented_docstring):
            yield f"line {line}: since Python 3.13, docstrings lose their indentation"
            break


def _lines(tree: ast.AST, is_meant: Callable[[ast.AST], bool]) -> Iterator[int]:
    return (getattr(node, "lineno", 1) for node in ast.walk(tree) if is_meant(node))


def _has_annotations(node: ast.AST) -> bool:
    if isinstance(node, ast.arg):
        return node.annotation is not None
    returns = getattr(node, "returns", None)
    return returns is not None or isinstance(node, ast.AnnAssign)


def _shows_locals(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return _SHOW_LOCALS.get(node.func.id) == len(node.args)


def _has_indented_docstring(node: ast.AST) -> bool:
    if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    text = ast.get_docstring(node, clean=False)
    return text is not None and trimmed(text) != text
