# SPDX-License-Identifier: Apache-2.0
"""Comparison of one `.pyc` with one source: whether the bytecode does what the source says.

The source is parsed by the running Python and lowered by the engine for the version of the `.pyc`,
which need not be installed.  If the proof fails there, the `.pyc` is decompiled, and its source is
compared with the given one: both are compiled by the running Python.
"""

import ast
import difflib
import dis
import itertools
import re
import sys
import warnings
from types import CodeType
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from pellucid import _core
from pellucid.decompilation import prove_pyc
from pellucid.errors import DecompileError
from pellucid.matching.prepare import has_future_annotations, prepare
from pellucid.verdicts import CodeVerdict

MATCH = "match"
EQUIVALENT = "equivalent"
DIFFERS = "differs"
NO_SOURCE = "no source"
UNPROVEN = "unproven"

_RUNNING: Tuple[int, int] = sys.version_info[:2]
_NOT_LOWERED = "relowering:"
"""The start of a reason of the engine (verify/lower)."""
_IS_LINE = " __firstlineno__("
"""Part of a reason: the line that a class stores about itself, since 3.13."""
_BY_DECOMPILING = "its decompiled source does the same"
_LEVELS = {0: "without optimization", 1: "with -O", 2: "with -OO"}


class Match(NamedTuple):
    """Whether a `.pyc` comes from a source."""

    status: str
    """``match``: the `.pyc` does what the source says.  ``equivalent``: it does the same, but has a
    different optimization level than its name says, or only its decompiled source could be proven
    to do the same.  ``differs``: it does something different.  ``no source``: there is none, or it
    cannot be parsed.  ``unproven``: neither could be proven."""
    reason: str = ""
    """Why it is not a match."""
    function: str = ""
    """The first code object that differs, such as ``<module>/Net/forward``."""
    line: int = 0
    """The first line of the given source that differs; 0 if unknown."""
    diff: str = ""
    """From the given source to the one that the `.pyc` was compiled from, as a unified diff."""
    version: Tuple[int, int] = (0, 0)
    """The Python version of the `.pyc`."""

    def __bool__(self) -> bool:
        """Whether the `.pyc` comes from the source."""
        return self.status in (MATCH, EQUIVALENT)

    def __repr__(self) -> str:
        place = ", ".join(filter(None, (self.function, f"line {self.line}" if self.line else "")))
        return f"<Match: {self.status}{f' in {place}' if place else ''}>"


def match(pyc: bytes, source: Union[str, bytes, None], *, optimize: Optional[int] = None) -> Match:
    """Return whether a `.pyc` file comes from a source.

    No interpreter of the file's version is needed, and nothing is executed.

    Args:
        pyc: the contents of a `.pyc` of CPython 3.8 to 3.15.
        source: Python source, as text or as the bytes of a file; ``None``: there is none.
        optimize: the optimization level that the file should have, 0 to 2; ``None``: any.

    Raises:
        DecompileError: ``pyc`` is not a valid `.pyc`.
    """
    version = _core.pyc_version(pyc)
    if source is None:
        return Match(NO_SOURCE, version=version)
    try:
        _parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = f"{_name(_RUNNING)} cannot parse the source: {_words(error)}"
        if version > _RUNNING:
            reason += f". Run pellucid with {_name(version)}"
        return Match(NO_SOURCE, reason, version=version)
    own = optimize or 0
    codes = lowered(pyc, source, own, version)
    if not _unproven(codes):
        return Match(MATCH, version=version)
    for level in {0, 1, 2} - {own}:
        if not _unproven(lowered(pyc, source, level, version)):
            status = MATCH if optimize is None else EQUIVALENT
            return Match(status, f"it was compiled {_LEVELS[level]}", version=version)
    return _compared(pyc, source, own, version, codes)


def _name(version: Tuple[int, int]) -> str:
    return "Python {}.{}".format(*version)


def _words(error: BaseException) -> str:
    """Return why a source cannot be parsed, and where."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{error.msg} (line {error.lineno})"
    return str(error)


def _parse(source: Union[str, bytes]) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def lowered(
    pyc: bytes,
    source: Union[str, bytes],
    level: int,
    version: Tuple[int, int],
    facts: Optional[Dict[str, List[str]]] = None,
) -> List[CodeVerdict]:
    """Compare the `.pyc` with the source, lowered for its version.

    With facts, it is one generated function; see `generated_file`.
    Raises SyntaxError if the running Python cannot parse the source.
    """
    try:
        tree = prepare(_parse(source), version, level, source=source)
        return [CodeVerdict(*code) for code in _core.compare_source(pyc, tree, version, facts)[1]]
    except RecursionError:
        return [CodeVerdict("unproven", "<module>", f"{_NOT_LOWERED} it nests too deep", 0, 0)]


def _unproven(codes: Iterable[CodeVerdict]) -> List[CodeVerdict]:
    return [code for code in codes if code.status == "unproven"]


def _compared(
    pyc: bytes,
    source: Union[str, bytes],
    level: int,
    version: Tuple[int, int],
    lowered: List[CodeVerdict],
) -> Match:
    """Compare the source with the decompiled one."""
    first = _unproven(lowered)[0]
    unproven = Match(UNPROVEN, first.reason, first.code, version=version)
    try:
        found, verdict = prove_pyc(pyc, "relowered", line_map=False)
        trees = [_parse(found.source), _parse(source)]
        # With `from __future__ import annotations`, 3.8 and 3.9 look up names in annotations, and
        # have other texts of them: what differs in these alone is not known to differ.
        is_bare = version < (3, 10) and has_future_annotations(trees[1])
        if is_bare:
            trees = [_Bare().visit(tree) for tree in trees]
        texts = (found.source, source)
        trees = [_prepared(*each, version, level) for each in zip(trees, texts)]
        lined = _compiled(trees[1])
        if _FOLDS_BY_LINES:
            trees = [_in_one_line(tree) for tree in trees]
        ours, theirs = map(_compiled, trees)
    except (DecompileError, SyntaxError, ValueError, RecursionError) as error:
        return unproven._replace(reason=str(error))
    if verdict.status == "unproven":
        why = f"the decompiled source is not proven: {verdict.reason}"
        unproven = unproven._replace(reason=why)
    _, compared = _core.compare_codes(theirs, ours)
    codes = [CodeVerdict(*code) for code in compared]
    # A difference counts only if both comparisons find it. The decompiled source may be unproven,
    # as that of edited bytecode is, but the engine must have been able to lower it. Versions differ
    # in which code gets a separate code object.
    guessed = {code.code: code.reason for code in _unproven(verdict.codes)}
    real = [c for c in _unproven(lowered) if not c.reason.startswith(_NOT_LOWERED)]
    for code in _unproven(codes):
        if guessed.get(code.code, "").startswith(_NOT_LOWERED):
            continue
        if is_bare and code.reason.startswith("cell variables"):
            continue
        if _IS_LINE in code.reason:  # the decompiled source has its own lines
            continue
        if not any(_are_related(code.code, other.code) for other in real):
            continue
        names = code.code.split("/")[1:]
        line = _line_of(lined, names, code.offset)
        diff = _diff(source, found.source, names, line)
        return Match(DIFFERS, code.reason, code.code, line, diff, version)
    for code in real:
        # The decompiled source has the same fault, so no source compiles to this.
        if guessed.get(code.code) == code.reason and _is_edited(code.reason):
            line = _line_of(lined, code.code.split("/")[1:], 0)
            reason = f"no compiler generates this: {code.reason}"
            return Match(DIFFERS, reason, code.code, line, version=version)
    # What one comparison proves, the other need not.
    rest = _paths(_unproven(codes))
    fills = not rest or _paths(_unproven(lowered)) <= _proven(codes)
    if not guessed and fills and rest <= _proven(lowered):
        return Match(EQUIVALENT, _BY_DECOMPILING, version=version)
    return unproven


def _is_edited(reason: str) -> bool:
    """Return true if one operation has different operands.

    Operations that differ may also be a fault of the lowering, which both sources share.  No
    lowered source has the line of a class, which a function in it may read.
    """
    one, _, other = reason.partition(" / ")
    words = [re.split(r"[ (]", half)[0] for half in (one, other)]
    return words[0] == words[1] and one[:1].isupper() and _IS_LINE not in reason


class _Bare(ast.NodeTransformer):
    """Drops the annotations of functions."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        node.returns = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef


class _Chosen(ast.NodeTransformer):
    """Replaces ``a if True else a``, as a constant that a compiler did not fold is decompiled."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        is_true = isinstance(node.test, ast.Constant) and node.test.value is True
        return node.body if is_true else node


def _paths(codes: Iterable[CodeVerdict]) -> Set[str]:
    return {code.code for code in codes}


def _proven(codes: List[CodeVerdict]) -> Set[str]:
    return _paths(codes) - _paths(_unproven(codes))


def _are_related(path: str, other: str) -> bool:
    """Return true if two code objects are the same, or one contains the other."""
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


_FOLDS_BY_LINES = sys.version_info < (3, 10)
"""Whether lines decide which defaults the running Python's compiler folds (peephole.c)."""


def _prepared(
    tree: ast.Module, source: Union[str, bytes], version: Tuple[int, int], level: int
) -> ast.Module:
    tree = prepare(tree, version, level, source=source, stringizes=False)
    prepared: ast.Module = _Chosen().visit(tree)
    for node in ast.walk(prepared):
        _show_docstring(node)
    return ast.fix_missing_locations(prepared)


def _in_one_line(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            vars(node).update(lineno=1, end_lineno=1)
    return tree


def _compiled(tree: ast.Module) -> CodeType:
    code = compile(tree, "<source>", "exec", dont_inherit=True, optimize=0)
    assert isinstance(code, CodeType)
    return code


def _show_docstring(node: ast.AST) -> None:
    """Turn a docstring into a call: since 3.13 Python strips the indentation of docstrings."""
    if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and ast.get_docstring(node, clean=False) is not None:
        name = ast.copy_location(ast.Name("__doc__", ast.Load()), first)
        first.value = ast.copy_location(ast.Call(name, [first.value], []), first)
        futures = itertools.takewhile(_is_future, node.body[1:])
        node.body.insert(len(list(futures)), node.body.pop(0))


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _line_of(code: CodeType, path: Sequence[str], offset: int) -> int:
    """Return an instruction's line in the code object at a path below ``code``; 0 if unknown."""
    for name in path:
        nested = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name]
        if not nested:
            return 0
        code = nested[0]
    lines = [line for start, line in dis.findlinestarts(code) if start <= offset and line]
    return lines[-1] if lines else code.co_firstlineno


def _diff(source: Union[str, bytes], decompiled: str, path: Sequence[str], line: int) -> str:
    """Return the difference at a source line, in the definition at a path or in the whole file."""
    tree = _parse(source)
    before, after = (_normal(_at(each, path)) for each in (tree, _parse(decompiled)))
    lines = list(difflib.unified_diff(before, after, "source", "pyc", lineterm="", n=2))
    starts = [number for number, text in enumerate(lines) if text.startswith("@@")]
    hunks = [lines[i:j] for i, j in zip(starts, [*starts[1:], len(lines)])]
    # The decompiled source may also be written differently with the same meaning.
    at_line = [node for node in ast.walk(tree) if getattr(node, "lineno", 0) == line]
    first = _normal(at_line[0])[:1] if at_line else []
    hunks = [hunk for hunk in hunks if first and "-" + first[0] in map(_flat, hunk)] or hunks
    return "\n".join(lines[:2] + hunks[0]) if hunks else ""


def _flat(line: str) -> str:
    """Return a line of a diff without its indentation."""
    return line[:1] + line[1:].lstrip()


def _at(tree: ast.AST, path: Sequence[str]) -> ast.AST:
    for name in path:
        inner = [node for node in ast.walk(tree) if getattr(node, "name", None) == name]
        if not inner:  # a lambda or a comprehension
            break
        tree = inner[0]
    return tree


def _normal(tree: ast.AST) -> "list[str]":
    unparse = getattr(ast, "unparse", None)  # Python 3.9 and newer
    return [] if unparse is None else unparse(tree).splitlines()
