# SPDX-License-Identifier: Apache-2.0
"""Compare syntax trees of sources with those of texts; `as_written.py` runs it, nobody else.

Runs under an interpreter whose `ast.parse` folds constants (3.13 and later). Standard input has a
pair of paths a line, as JSON with the version that compiled the source; standard output a
`Comparison` for each, or null where this interpreter cannot parse one of them.

Two trees are the same if `ast.dump` says so of both, without places, after this and nothing else:

- constants are folded in both (`ast.parse(optimize=1)`: `1 << 10` is 1024, `[1, 2]` after `in` is
  a tuple, `'%s' % x` an f-string), which compilers did before there was any bytecode;
- so is what the compiler folds later: `f'x'`, which has no field, is `'x'`, and `{1, 2, 3}` is one
  frozenset, which has no order;
- `u'x'` is `'x'`;
- docstrings lose their indentation from 3.13 on, as the compiler takes it.
"""

import ast
import collections
import difflib
import inspect
import json
import sys
import warnings
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple, Union

_HAVE_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# An example of a difference is cut here.
_SHOWN = 600


class Comparison(NamedTuple):
    """How one text differs from its source."""

    lines: int  # of the source, as `ast.unparse` prints it
    differ: int
    difference: List[str]
    functions: int
    same_functions: int
    causes: List["Cause"]


class Cause(NamedTuple):
    """A part of a tree that differs."""

    signature: str  # kinds of nodes
    function: str  # the innermost one, by qualified name; empty: none
    line: int  # of the source
    written: str
    read: str


class Folded(ast.NodeTransformer):
    """Folds what the compiler folds while it writes code."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Make a constant of an f-string without fields."""
        self.generic_visit(node)
        parts = [each.value for each in node.values if isinstance(each, ast.Constant)]
        if len(parts) < len(node.values):
            return node
        return ast.copy_location(ast.Constant("".join(map(str, parts))), node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        """Sort a set of constants."""
        self.generic_visit(node)
        if len(node.elts) > 2 and all(isinstance(each, ast.Constant) for each in node.elts):
            node.elts.sort(key=ast.dump)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Sort a frozenset, drop the prefix of a string."""
        node.kind = None
        if isinstance(node.value, frozenset):
            node.value = tuple(sorted(map(repr, node.value)))
        return node


def tree_of(path: str, version: Tuple[int, int]) -> ast.Module:
    """Parse a file, constants folded, and take out what leaves nothing in bytecode."""
    with open(path, "rb") as file:
        tree: ast.Module = ast.parse(file.read(), optimize=1)  # type: ignore[call-overload]
    Folded().visit(tree)
    for node in ast.walk(tree):
        may_have_docstring = version >= (3, 13) and isinstance(node, _HAVE_DOCSTRINGS)
        if may_have_docstring and ast.get_docstring(node, clean=False):
            docstring: Any = node.body[0]
            docstring.value.value = inspect.cleandoc(docstring.value.value).strip()
    return tree


def functions_in(tree: ast.AST) -> "Dict[Tuple[str, int], str]":
    """Return the dump of each function, by qualified name and number among its namesakes."""
    found: Dict[Tuple[str, int], str] = {}
    seen: collections.Counter[str] = collections.Counter()
    todo: List[Tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, outer = todo.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            outer = f"{outer}.{node.name}"
            if isinstance(node, _FUNCTIONS):
                found[outer, seen[outer]] = ast.dump(node)
                seen[outer] += 1
        todo.extend((child, outer) for child in reversed(list(ast.iter_child_nodes(node))))
    return found


Node = Union[ast.AST, List[Any], str, int, None]


def dump(node: Node) -> str:
    """Return what two equal parts of trees have in common."""
    if isinstance(node, list):
        return "[" + ", ".join(map(dump, node)) + "]"
    return ast.dump(node) if isinstance(node, ast.AST) else repr(node)


def shape(node: Node, depth: int = 1) -> str:
    """Return the kinds of a node and of the statements in it: `If[Return|Expr]`."""
    if isinstance(node, list):
        return " ".join(shape(each, depth) for each in node) or "nothing"
    if not isinstance(node, ast.AST):
        return "nothing" if node is None else type(node).__name__
    name = type(node).__name__
    if depth and isinstance(node, ast.stmt):
        suites = [getattr(node, field, None) for field in ("body", "orelse", "finalbody")]
        if any(suites):
            name += "[" + "|".join(shape(each, depth - 1) for each in suites if each) + "]"
    elif depth and isinstance(node, ast.UnaryOp):
        name = f"{type(node.op).__name__}({shape(node.operand, 0)})"
    elif depth and isinstance(node, ast.BoolOp):
        name = type(node.op).__name__
    return name


def text_of(node: Node) -> str:
    """Return a node as source, cut where it is long."""
    nodes = node if isinstance(node, list) else [node]
    shown = [
        ast.unparse(each) if isinstance(each, (ast.stmt, ast.expr, ast.pattern)) else dump(each)
        for each in nodes
    ]
    text = "\n".join(shown)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " …"


def causes(written: ast.AST, read: ast.AST) -> Iterator[Cause]:
    """Yield the smallest parts that differ."""
    todo: List[Tuple[ast.AST, ast.AST, str]] = [(written, read, "")]
    while todo:
        a, b, function = todo.pop()
        if isinstance(a, (*_FUNCTIONS, ast.ClassDef)):
            function = f"{function}.{a.name}".lstrip(".")
        fields = [f for f in a._fields if dump(getattr(a, f, None)) != dump(getattr(b, f, None))]
        # What was inverted, or moved from one suite to another, is one difference.
        if isinstance(a, ast.stmt) and len({"test", "body", "orelse"} & set(fields)) > 1:
            yield cause("", function, a, a, b)
            continue
        for field in fields:
            where = f"{type(a).__name__}.{field}: "
            one, other = getattr(a, field, None), getattr(b, field, None)
            if not (isinstance(one, list) and isinstance(other, list)):
                one, other = [one], [other]
            for x, y in aligned(one, other):
                if len(x) != len(y) or any(type(p) is not type(q) for p, q in zip(x, y)):
                    yield cause(where, function, a, x, y)
                elif isinstance(x[0], ast.AST):
                    todo.extend((p, q, function) for p, q in zip(x, y))
                else:
                    yield cause(where, function, a, x, y)


def cause(where: str, function: str, at: ast.AST, written: Node, read: Node) -> Cause:
    """Return the signature of a difference, and the difference."""
    line = getattr(written[0] if isinstance(written, list) and written else written, "lineno", 0)
    signature = f"{where}{shape(written)} -> {shape(read)}"
    line = line if line > 0 else getattr(at, "lineno", 0)
    return Cause(signature, function, line, text_of(written), text_of(read))


def aligned(written: List[Any], read: List[Any]) -> Iterator[Tuple[List[Any], List[Any]]]:
    """Yield what differs between two lists."""
    left, right = list(map(dump, written)), list(map(dump, read))
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for what, a, b, c, d in matcher.get_opcodes():
        if what != "equal":
            yield written[a:b], read[c:d]


def compared(source: str, text: str, version: Tuple[int, int]) -> Comparison:
    """Compare a text with its source."""
    trees = [tree_of(path, version) for path in (source, text)]
    written, read = (ast.unparse(tree).splitlines() for tree in trees)
    opcodes = difflib.SequenceMatcher(None, written, read, autojunk=False).get_opcodes()
    lost = sum(b - a for what, a, b, _, _ in opcodes if what != "equal")
    added = sum(d - c for what, _, _, c, d in opcodes if what != "equal")
    shown: Sequence[str] = ()
    if lost or added:
        shown = list(difflib.unified_diff(written, read, "written", "read", lineterm="", n=2))
    functions, others = map(functions_in, trees)
    return Comparison(
        len(written),
        max(lost, added),
        list(shown),
        len(functions),
        sum(others.get(name) == each for name, each in functions.items()),
        list(causes(*trees)),
    )


def main() -> None:
    """Answer what standard input asks."""
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20000)
    for line in sys.stdin:
        source, text, version = json.loads(line)
        try:
            print(json.dumps(compared(source, text, tuple(version))))
        except (SyntaxError, ValueError, RecursionError):
            print("null")


if __name__ == "__main__":
    main()
