# SPDX-License-Identifier: Apache-2.0
"""Rewrites of the user's lines, by their syntax trees; empty if a line's form does not allow it."""

from __future__ import annotations

import ast
import functools
from typing import Callable, Iterator, Sequence

from pellucid.dump.model.events import Place

from .source import Program

_NUMBERS = ("item", "tolist", "int", "float", "bool", "round", "len", "range")


def branch_shape(program: Program, place: Place | None) -> str:
    """Return the test on a line: ``if``, ``while``, ``assert``, ``leaves loop``, or empty."""
    node = None if place is None else program.statement(place)
    if isinstance(node, ast.While):
        return "while"
    if isinstance(node, ast.Assert):
        return "assert"
    if isinstance(node, ast.If):
        inside = _loop_around(program, place, node)
        leaves = any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in ast.walk(node))
        return "leaves loop" if inside and leaves else "if"
    return ""


def _loop_around(program: Program, place: Place | None, node: ast.stmt) -> bool:
    tree = None if place is None else program.tree(place.file)
    for loop in ast.walk(tree) if tree is not None else ():
        if isinstance(loop, (ast.For, ast.While)) and any(n is node for n in ast.walk(loop)):
            return True
    return False


def is_tested(program: Program, place: Place | None, call: str) -> bool:
    """Return true if a line tests the result of a call, such as ``.item()``."""
    name = call.strip(".()")
    node = None if place is None else program.statement(place)
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, (ast.If, ast.While, ast.Assert, ast.IfExp)):
            calls = (n.func for n in ast.walk(part.test) if isinstance(n, ast.Call))
            if any(_name(func) == name or getattr(func, "attr", "") == name for func in calls):
                return True
    return False


def in_autograd_function(program: Program, place: Place) -> bool:
    """Return true if a line is in a class that derives from ``torch.autograd.Function``."""
    tree = program.tree(place.file)
    return any(
        isinstance(node, ast.ClassDef)
        and node.lineno <= place.line <= (node.end_lineno or 0)
        and any(_last(base) == "Function" for base in node.bases)
        for node in (ast.walk(tree) if tree is not None else ())
    )


def block_around(program: Program, place: Place | None) -> str:
    """Return the block around a line in which torch cannot resume: ``try``, ``with``, or empty."""
    if place is None:
        return ""
    tree = program.tree(place.file)
    around = ""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Try, ast.With)):
            # The line of a `with` itself is outside its body.
            body = [*node.body, *(getattr(node, "handlers", ())), *(getattr(node, "finalbody", ()))]
            if any(part.lineno <= place.line <= (part.end_lineno or 0) for part in body):
                around = "try" if isinstance(node, ast.Try) else "with"
    return around


def as_where(program: Program, place: Place | None) -> str:
    """Rewrite an ``if`` that assigns one of two values to a name with ``torch.where``."""
    node = None if place is None else program.statement(place)
    if place is None or not isinstance(node, ast.If) or branch_shape(program, place) != "if":
        return ""
    if len(node.body) != 1 or len(node.orelse) > 1 or node.lineno != place.line:
        return ""
    if any(isinstance(n, (ast.NamedExpr, ast.Await)) for n in ast.walk(node)):
        return ""
    text = functools.partial(program.text_of, place.file)
    then = _assigned(node.body[0], text)
    otherwise = _assigned(node.orelse[0], text) if node.orelse else None
    if then is None or (node.orelse and (otherwise is None or otherwise[0] != then[0])):
        return ""
    name, value = then
    if name == "return" and not node.orelse:
        return ""
    other = otherwise[1] if otherwise is not None else name
    indent = " " * node.col_offset
    start = f"{indent}return " if name == "return" else f"{indent}{name} = "
    test = text(node.test).replace(".item()", "")
    if any(
        _name(call.func) in _NUMBERS for call in ast.walk(node.test) if isinstance(call, ast.Call)
    ):
        return ""  # torch.where() takes no Python number
    new = f"{start}torch.where({test}, {value}, {other})"
    return program.diff(place.file, node.lineno, node.end_lineno or node.lineno, [new])


def _assigned(node: ast.stmt, write: Callable[[ast.AST], str]) -> tuple[str, str] | None:
    """Return the name and value of an assignment to one name, or of a return."""
    if (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    ):
        return node.targets[0].id, write(node.value)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        sign = _SIGNS.get(type(node.op))
        value = write(node.value)
        simple = isinstance(
            node.value, (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)
        )
        return (
            (node.target.id, f"{node.target.id} {sign} {value if simple else f'({value})'}")
            if sign
            else None
        )
    if (
        isinstance(node, ast.Return)
        and node.value is not None
        and not isinstance(node.value, ast.Tuple)
    ):
        return "return", write(node.value)
    return None


_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}


def as_assert(program: Program, place: Place | None) -> str:
    """Rewrite an ``assert`` on a tensor's value with ``torch._assert``."""
    node = None if place is None else program.statement(place)
    if place is None or not isinstance(node, ast.Assert):
        return ""
    test = program.text_of(place.file, node.test)
    message = program.text_of(place.file, node.msg) if node.msg is not None else "''"
    new = f"{' ' * node.col_offset}torch._assert({test}, {message})"
    return program.diff(place.file, node.lineno, node.end_lineno or node.lineno, [new])


def without_line(program: Program, place: Place | None, name: str) -> str:
    """Remove a statement that only calls ``name``, unless it is the only one in its block."""
    node = None if place is None else program.statement(place)
    if place is None or not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return ""
    if _name(node.value.func).rpartition(".")[2] != name:
        return ""
    if len(program.block(place.file, node)) == 1:
        return ""
    return program.diff(place.file, node.lineno, node.end_lineno or node.lineno, [])


def without_decorator(
    program: Program, place: Place | None, function: str, name: str
) -> tuple[str, Place | None]:
    """Remove a decorator from the only function of a name in a file; return its line too."""
    named = [f for f in program.functions(place.file) if f.name == function] if place else []
    for part in named[0].decorator_list if len(named) == 1 else ():
        called = part.func if isinstance(part, ast.Call) else part
        if place is not None and _name(called).rpartition(".")[2] == name:
            at = Place(place.file, part.lineno, function)
            return program.diff(place.file, part.lineno, part.end_lineno or part.lineno, []), at
    return "", None


def scalar_call(program: Program, place: Place | None) -> str:
    """Return the call that turns a tensor into a number on a line: ``.item()``, ``int()``."""
    for call in _calls(program, place):
        name = _name(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")
        if name in _NUMBERS:
            return f"{'.' if isinstance(call.func, ast.Attribute) else ''}{name}()"
    return ".item()"


_GROWING = ("append", "extend", "add", "update", "insert", "setdefault", "appendleft")


def grows(program: Program, place: Place | None, name: str) -> bool:
    """Return true if functions of a file grow the list, set or dict with this last name."""
    return place is not None and any(
        _grows_by(node, name) for part in program.functions(place.file) for node in ast.walk(part)
    )


def _grows_by(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _GROWING and _last(node.func.value) == name
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _last(node.value) == name
    return isinstance(node, ast.AugAssign) and _last(node.target) == name


def computed_in(function: ast.FunctionDef | ast.AsyncFunctionDef, source: str) -> bool:
    """Return true if a function assigns a source's base name and does not take it as an argument.

    >>> code = ast.parse("def f(x, n):\\n    w = int(x)\\n    return w + n").body[0]
    >>> computed_in(code, "w"), computed_in(code, "n"), computed_in(code, "w[0]")
    (True, False, True)
    """
    name = source.partition(".")[0].partition("[")[0]
    arguments = function.args
    every = [*getattr(arguments, "posonlyargs", ()), *arguments.args, *arguments.kwonlyargs]
    every += [part for part in (arguments.vararg, arguments.kwarg) if part is not None]
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and _is_stored(n)}
    return name in stored and name not in {argument.arg for argument in every}


def counts_to(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Return true if a function loops over ``range`` of a name, so each value unrolls differently.

    >>> code = ast.parse("def f(x, n):\\n    for _ in range(n): x = x + 1").body[0]
    >>> counts_to(code, "n"), counts_to(code, "x")
    (True, False)
    """
    for node in ast.walk(function):
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Call):
            names = {_name(part) for part in ast.walk(node.iter)}
            if _name(node.iter.func) == "range" and name in names:
                return True
    return False


def sets(program: Program, place: Place | None, source: str) -> bool:
    """Return true if the function around a line assigns an attribute or a global."""
    function = None if place is None else program.function(place)
    name = source.replace("global ", "")
    if function is None or (name.isidentifier() and not source.startswith("global ")):
        return False
    assigned = (n for n in ast.walk(function) if isinstance(n, ast.Assign))
    return any(_name(target) == name for node in assigned for target in node.targets)


def is_reassigned(program: Program, place: Place | None, source: str) -> bool:
    """Return true if a file sets such an attribute (``self.rate``) of an object from outside."""
    tree = None if place is None else program.tree(place.file)
    owner, _, name = source.rpartition(".")
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr == name
        and _name(node.value) != owner
        for node in (ast.walk(tree) if tree is not None and owner else ())
    )


def is_argument(program: Program, place: Place | None, name: str) -> bool:
    """Return true if the function that begins at a line has an argument of this name."""
    function = None if place is None else program.function(program.start(place))
    arguments = None if function is None else function.args
    if arguments is None:
        return False
    every = [*getattr(arguments, "posonlyargs", ()), *arguments.args, *arguments.kwonlyargs]
    return name in {argument.arg for argument in every}


def with_tensor(program: Program, place: Place | None, keyword: str) -> tuple[str, Place | None]:
    """Wrap the value of the only keyword of a name in a file in a tensor; return its line too."""
    tree = None if place is None else program.tree(place.file)
    found = [n for n in (ast.walk(tree) if tree else ()) if _gives(n, keyword)]
    if place is None or len(found) != 1:
        return "", None
    value = found[0].value  # type: ignore[attr-defined]
    text = program.text_of(place.file, value)
    line = program.lines(place.file)[value.lineno - 1]
    if value.lineno != value.end_lineno or not line.isascii():
        return "", None
    new = f"{line[: value.col_offset]}torch.tensor({text}){line[value.end_col_offset :]}"
    at = Place(place.file, value.lineno, "")
    return program.diff(place.file, value.lineno, value.lineno, [new]), at


def _gives(node: ast.AST, keyword: str) -> bool:
    return (
        isinstance(node, ast.keyword)
        and node.arg == keyword
        and not (isinstance(node.value, ast.Call) and _name(node.value.func).endswith("tensor"))
    )


def with_call_renamed(program: Program, file: str, old: str, new: str) -> tuple[str, Place | None]:
    """Rename the only call of a name in a file; return its line too."""
    tree = program.tree(file)
    found = [
        n
        for n in (ast.walk(tree) if tree else ())
        if isinstance(n, ast.Call) and _name(n.func).rpartition(".")[2] == old
    ]
    if len(found) != 1:
        return "", None
    end = found[0].func.end_col_offset or 0
    number = found[0].func.end_lineno or found[0].lineno
    line = program.lines(file)[number - 1]
    if not line.isascii() or not line[:end].endswith(old):
        return "", None
    changed = f"{line[: end - len(old)]}{new}{line[end:]}"
    return program.diff(file, number, number, [changed]), Place(file, number, "")


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def loops_over(program: Program, place: Place | None, name: str) -> bool:
    """Return true if the function around a line loops over a value with this last name."""
    function = None if place is None else program.function(place)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, (ast.For, ast.comprehension)) and any(
            _last(part) == name for part in ast.walk(node.iter)
        ):
            return True
    return False


def _last(node: ast.AST) -> str:
    return _name(node).rpartition(".")[2]


def test_of_size(program: Program, place: Place | None, bounds: Sequence[int]) -> Place | None:
    """Return the only line of a function that compares with one of these bounds."""
    function = None if place is None else program.function(place)
    lines = set()
    for node in ast.walk(function) if function is not None else ():
        if not isinstance(node, ast.Compare):
            continue
        for part in node.comparators:
            value = part.value if isinstance(part, ast.Constant) else None
            if type(value) is int and not {value - 1, value, value + 1}.isdisjoint(bounds):
                lines.add(node.lineno)
    if place is None or function is None or len(lines) != 1:
        return None
    return Place(place.file, lines.pop(), function.name)


def called_name(program: Program, place: Place | None, ending: str) -> str:
    """Return the first called name on a line that ends with ``ending``; empty if there is none."""
    for call in _calls(program, place):
        name = _name(call.func)
        if name and name.endswith(ending):
            return name
    return ""


def _calls(program: Program, place: Place | None) -> Iterator[ast.Call]:
    node = None if place is None else program.statement(place)
    if node is None or place is None:
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and part.lineno <= place.line <= (part.end_lineno or 0):
            yield part


def _name(node: ast.AST) -> str:
    """Return a dotted name; empty if it is not one, such as the method of a call's result."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _name(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""
