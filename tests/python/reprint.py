"""Checks the printer against CPython's own parser: parse, print, parse again, compare.

Runs under any CPython from 3.8 on and needs only the standard library:

    python3.9 tests/python/reprint.py build/make/pellucid_reprint FILE_OR_FOLDER...

The tool prints syntax trees that it is given in the form that `Serializer` writes; the header of
tests/unit/tools/reprint.cpp describes it. Two programs are the same when their serialized
trees are: positions aside, adjacent literal parts of f-strings joined, and docstrings cleaned as
the compiler of 3.13 and later does.
"""

import ast
import itertools
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Tuple

VERSION = "%d.%d" % sys.version_info[:2]

BOOL_OPERATORS = ["And", "Or"]
OPERATORS = [
    "Add",
    "Sub",
    "Mult",
    "MatMult",
    "Div",
    "Mod",
    "Pow",
    "LShift",
    "RShift",
    "BitOr",
    "BitXor",
    "BitAnd",
    "FloorDiv",
]
UNARY_OPERATORS = ["USub", "UAdd", "Not", "Invert"]
CMP_OPERATORS = ["Lt", "LtE", "Eq", "NotEq", "Gt", "GtE", "Is", "IsNot", "In", "NotIn"]

# The fields of each kind, as nodes.def lists them: N a node, L a list, S a name, V a constant,
# I a number. What CPython's tree lacks in a version is absent or empty.
FIELDS = {
    "Module": "L:body",
    "FunctionDef": "S:name N:args L:body L:decorator_list N:returns L:type_params I:is_async",
    "ClassDef": "S:name L:bases L:keywords L:body L:decorator_list L:type_params",
    "Return": "N:value",
    "Delete": "L:targets",
    "Assign": "L:targets N:value",
    "TypeAlias": "N:name L:type_params N:value",
    "AugAssign": "N:target O:op N:value",
    "AnnAssign": "N:target N:annotation N:value I:simple",
    "For": "N:target N:iter L:body L:orelse I:is_async",
    "While": "N:test L:body L:orelse",
    "If": "N:test L:body L:orelse",
    "With": "L:items L:body I:is_async",
    "Match": "N:subject L:cases",
    "Raise": "N:exc N:cause",
    "Try": "L:body L:handlers L:orelse L:finalbody I:is_star",
    "Assert": "N:test N:msg",
    "Import": "L:names I:is_lazy",
    "ImportFrom": "S:module L:names I:level I:is_lazy",
    "Global": "L:names",
    "Nonlocal": "L:names",
    "Expr": "N:value",
    "Pass": "",
    "Break": "",
    "Continue": "",
    "BoolOp": "O:op L:values I:is_tested_again",
    "NamedExpr": "N:target N:value",
    "BinOp": "N:left O:op N:right",
    "UnaryOp": "O:op N:operand",
    "Lambda": "N:args N:body",
    "IfExp": "N:test N:body N:orelse",
    "Dict": "L:keys L:values",
    "Set": "L:elts",
    "ListComp": "N:elt L:generators",
    "SetComp": "N:elt L:generators",
    "DictComp": "N:key N:value L:generators",
    "GeneratorExp": "N:elt L:generators",
    "Await": "N:value",
    "Yield": "N:value",
    "YieldFrom": "N:value",
    "Compare": "N:left O:ops L:comparators",
    "Call": "N:func L:args L:keywords",
    "FormattedValue": "N:value I:conversion N:format_spec",
    "Interpolation": "N:value V:str I:conversion N:format_spec",
    "JoinedStr": "L:values",
    "TemplateStr": "L:values",
    "Constant": "V:value",
    "Attribute": "N:value S:attr",
    "Subscript": "N:value N:slice",
    "Starred": "N:value",
    "Name": "S:id",
    "List": "L:elts",
    "Tuple": "L:elts",
    "Slice": "N:lower N:upper N:step",
    "comprehension": "N:target N:iter L:ifs I:is_async",
    "ExceptHandler": "N:type S:name L:body",
    "arguments": "L:posonlyargs L:args N:vararg L:kwonlyargs L:kw_defaults N:kwarg L:defaults",
    "arg": "S:arg N:annotation",
    "keyword": "S:arg N:value",
    "alias": "S:name S:asname",
    "withitem": "N:context_expr N:optional_vars",
    "match_case": "N:pattern N:guard L:body",
    "MatchValue": "N:value",
    "MatchSingleton": "V:value",
    "MatchSequence": "L:patterns",
    "MatchMapping": "L:keys L:patterns S:rest",
    "MatchClass": "N:cls L:patterns L:kwd_attrs L:kwd_patterns",
    "MatchStar": "S:name",
    "MatchAs": "N:pattern S:name",
    "MatchOr": "L:patterns",
    "TypeVar": "S:name N:bound N:default_value",
    "ParamSpec": "S:name N:default_value",
    "TypeVarTuple": "S:name N:default_value",
}
TABLE: Dict[str, List[Tuple[str, str]]] = {
    kind: [(field[0], field[2:]) for field in fields.split()] for kind, fields in FIELDS.items()
}
# Kinds that are flags of another kind in our tree.
FLAGGED = {
    "AsyncFunctionDef": ("FunctionDef", "is_async"),
    "AsyncFor": ("For", "is_async"),
    "AsyncWith": ("With", "is_async"),
    "TryStar": ("Try", "is_star"),
}


def clean_docstring(text: str) -> str:
    """Strip a docstring's indentation as the compiler of 3.13 does."""
    first, *rest = text.expandtabs().split("\n")
    margins = [len(line) - len(line.lstrip(" ")) for line in rest if line.strip(" ")]
    margin = min(margins, default=0)
    lines = [first.lstrip(" ")]
    for line in rest:
        lead = len(line) - len(line.lstrip(" "))
        lines.append(line[min(lead, margin) :])
    return "\n".join(lines)


class Serializer:
    """Writes a syntax tree as the instructions that pellucid_reprint reads."""

    def __init__(self, lines: bool = False, columns: bool = False) -> None:
        self.out: List[str] = []
        self.lines = lines
        self.columns = columns

    def program(self, tree: ast.AST) -> str:
        self.node(tree)
        self.out.append("p\n")
        return "\n".join(self.out)

    def node(self, node: Any) -> None:
        if node is None:
            self.out.append("n")
            return
        kind = type(node).__name__
        if kind == "Index":  # 3.8
            self.node(node.value)
            return
        if kind == "ExtSlice":  # 3.8
            self.nodes(node.dims)
            self.out.append("k Tuple")
            return
        flag = None
        if kind in FLAGGED:
            kind, flag = FLAGGED[kind]
        if kind in ("Module", "FunctionDef", "ClassDef"):
            self.clean(node)
        for what, field in TABLE[kind]:
            if what == "N":
                self.node(getattr(node, field, None))
            elif what == "S":
                self.name(getattr(node, field))
            elif what == "V":
                self.constant(getattr(node, field))
            elif what == "L":
                self.list(kind, node, field)
            elif what == "O":
                self.operators(kind, getattr(node, field))
            else:
                value = int(field == flag or getattr(node, field, 0) or 0)
                self.out.append("i %d" % max(value, 0))
        if self.lines and hasattr(node, "lineno"):
            self.out.append("@ %d%s" % (node.lineno, self.place(node) if self.columns else ""))
        self.out.append("k " + kind)

    def place(self, node: Any) -> str:
        """Return the columns of a node's instruction: that of a statement with a test tests it."""
        node = getattr(node, "test", node)
        if node.col_offset < 0:
            return ""
        ends_here = node.end_lineno == node.lineno
        return " %d%s" % (node.col_offset, " %d" % node.end_col_offset if ends_here else "")

    def clean(self, node: Any) -> None:
        if sys.version_info < (3, 13) or not node.body or not isinstance(node.body[0], ast.Expr):
            return
        value = node.body[0].value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            value.value = clean_docstring(value.value)

    def list(self, kind: str, node: Any, field: str) -> None:
        items = getattr(node, field, [])
        if kind in ("Global", "Nonlocal") or field == "kwd_attrs":
            items = [ast.Name(id=name) for name in items]
        elif kind in ("JoinedStr", "TemplateStr"):
            items = joined(items)
        self.nodes(items)

    def nodes(self, items: List[Any]) -> None:
        for item in items:
            self.node(item)
        self.out.append("l %d" % len(items))

    def operators(self, kind: str, ops: Any) -> None:
        if kind == "Compare":
            numbers = [str(CMP_OPERATORS.index(type(op).__name__)) for op in ops]
            self.out.append("m " + " ".join(numbers))
            return
        table = {"BoolOp": BOOL_OPERATORS, "UnaryOp": UNARY_OPERATORS}.get(kind, OPERATORS)
        self.out.append("i %d" % table.index(type(ops).__name__))

    def name(self, name: Any) -> None:
        if name is None:
            self.out.append("n")
        else:
            self.out.append("s " + name.encode("utf-8", "surrogatepass").hex())

    def constant(self, value: Any) -> None:
        out = self.out
        if value is None or value is True or value is False:
            out.append("c %s" % value)
        elif value is Ellipsis:
            out.append("c Ellipsis")
        elif isinstance(value, str):
            out.append("c Str " + value.encode("utf-8", "surrogatepass").hex())
        elif isinstance(value, bytes):
            out.append("c Bytes " + value.hex())
        elif isinstance(value, int):
            small = -(2**63) <= value < 2**63
            out.append("c Int %d" % value if small else "c BigInt %s" % big_hex(value))
        elif isinstance(value, float):
            out.append("c Float %s 0" % value.hex())
        elif isinstance(value, complex):
            out.append("c Complex %s %s" % (value.real.hex(), value.imag.hex()))
        elif isinstance(value, slice):
            for part in (value.start, value.stop, value.step):
                self.constant(part)
            out.append("c Slice 3")
        else:
            # Sets have no order that lasts from run to run.
            for item in sorted(value, key=repr) if isinstance(value, frozenset) else value:
                self.constant(item)
            kind = {tuple: "Tuple", frozenset: "FrozenSet"}[type(value)]
            out.append("c %s %d" % (kind, len(value)))


def big_hex(value: int) -> str:
    return ("-" if value < 0 else "") + "%x" % abs(value)


def joined(values: List[Any]) -> List[Any]:
    """Join the adjacent literal parts of an f-string and drop empty ones."""
    out: List[Any] = []
    for is_text, group in itertools.groupby(values, lambda v: isinstance(v, ast.Constant)):
        if not is_text:
            out.extend(group)
            continue
        text = "".join(part.value for part in group)
        if text:
            out.append(ast.Constant(value=text))
    return out


def parse(source: "bytes | str") -> ast.AST:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def serialize(tree: ast.AST, lines: bool = False, columns: bool = False) -> str:
    return Serializer(lines, columns).program(tree)


def reprint(tool: str, programs: "Iterable[str]", *flags: str) -> "List[Tuple[str, int]]":
    """Print serialized trees; return each text with the number of problems that came with it."""
    request = "".join(programs).encode()
    command = [tool, VERSION, *flags]
    output = subprocess.run(command, input=request, stdout=subprocess.PIPE, check=True).stdout
    answers = []
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        length, problems = map(int, output[at:end].split())
        answers.append((output[end + 1 : end + 1 + length].decode(), problems))
        at = end + 1 + length
    return answers


class Failure(NamedTuple):
    """A program whose text is not the same program."""

    path: str
    reason: str
    text: str


def difference(wanted: str, text: str) -> str:
    """Return why `text` is not the program that `wanted` serializes, or an empty string."""
    try:
        got = serialize(parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
    if got == wanted:
        return ""
    a, b = wanted.splitlines(), got.splitlines()
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"tree differs: wanted {a[at - 3 : at + 3]}, got {b[at - 3 : at + 3]}"


def check(tool: str, paths: "Iterable[Path]", keep_lines: bool) -> "Iterator[Failure | None]":
    """Check files in batches; yield None for each that passes."""
    flags = ["--keep-lines"] if keep_lines else []
    batch: List[Tuple[Path, str, str]] = []

    def finish() -> "Iterator[Failure | None]":
        answers = reprint(tool, [with_lines for _, _, with_lines in batch], *flags)
        for (path, wanted, _), (text, problems) in zip(batch, answers):
            reason = f"{problems} problems" if problems else difference(wanted, text)
            yield Failure(str(path), reason, text) if reason else None
        batch.clear()

    for path in paths:
        try:
            tree = parse(path.read_bytes())
            wanted = serialize(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        batch.append((path, wanted, serialize(tree, lines=True) if keep_lines else wanted))
        if sum(len(each[1]) for each in batch) > 20_000_000:
            yield from finish()
    yield from finish()


def files(paths: "Iterable[str]") -> "Iterator[Path]":
    for path in map(Path, paths):
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def main(arguments: "List[str]") -> int:
    keep_lines = "--keep-lines" in arguments
    tool, *paths = [each for each in arguments if not each.startswith("--")]
    sys.setrecursionlimit(20_000)
    start = time.time()
    passed, failed = 0, 0
    for result in check(tool, files(paths), keep_lines):
        if result is None:
            passed += 1
        else:
            failed += 1
            print(f"{result.path}: {result.reason}")
    seconds = time.time() - start
    print(f"{VERSION}: {passed} of {passed + failed} files the same, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
