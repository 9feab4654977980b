"""Checks the printer on random statements and constants.

    python3.9 tests/python/reprint_random.py build/make/pellucid_reprint [SEED COUNT]

Expressions are built as trees, so that they hold what nobody writes: a lambda in the iterable of
a comprehension in a format spec. Each must parse back to the same tree. Constants are built as
values, as constant folding makes them; the literal of each must be folded back to the same value.
"""

import ast
import os
import random
import struct
import sys
import types
import warnings
from typing import Any, Callable, List

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reprint import Serializer, difference, reprint, serialize

NAMES = ["a", "b", "value", "é", "match", "_"]
TEXTS = [
    "",
    "x",
    "'",
    '"',
    "\\",
    "\n",
    "{",
    "}",
    "'\"",
    "'''",
    '"""',
    "\r",
    "\0",
    "é",
    "\u200b",
    "#",
]


class Trees:
    """Random syntax trees. `Trees(rng).expr(depth)` is an expression that may stand anywhere."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def text(self) -> str:
        return "".join(self.rng.choice(TEXTS) for _ in range(self.rng.choice([0, 1, 1, 2, 4])))

    def many(self, make: "Callable[[int], Any]", depth: int, least: int = 0) -> "List[Any]":
        return [make(depth) for _ in range(self.rng.choice([least, least, least + 1, least + 2]))]

    def name(self, depth: int = 0) -> ast.AST:
        return ast.Name(id=self.rng.choice(NAMES))

    def leaf(self) -> ast.AST:
        rng = self.rng
        value = rng.choice([None, True, Ellipsis, 1, 0, 1.5, 2j, "s", b"b", self.text()])
        return rng.choice([self.name(), ast.Constant(value=value)])

    def expr(self, depth: int) -> Any:
        if depth <= 0:
            return self.leaf()
        return self.rng.choice(self.MAKERS)(self, depth - 1)

    def starred(self, depth: int) -> Any:
        return ast.Starred(value=self.expr(depth)) if self.rng.random() < 0.2 else self.expr(depth)

    def binary(self, d: int) -> ast.AST:
        op = self.rng.choice(
            [ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.BitOr, ast.LShift, ast.MatMult]
        )
        return ast.BinOp(left=self.expr(d), op=op(), right=self.expr(d))

    def boolean(self, d: int) -> ast.AST:
        op = self.rng.choice([ast.And, ast.Or])
        return ast.BoolOp(op=op(), values=self.many(self.expr, d, 2))

    def unary(self, d: int) -> ast.AST:
        op = self.rng.choice([ast.USub, ast.UAdd, ast.Not, ast.Invert])
        return ast.UnaryOp(op=op(), operand=self.expr(d))

    def compare(self, d: int) -> ast.AST:
        values = self.many(self.expr, d, 1)
        ops = [self.rng.choice([ast.Lt, ast.Is, ast.NotIn, ast.In, ast.NotEq])() for _ in values]
        return ast.Compare(left=self.expr(d), ops=ops, comparators=values)

    def conditional(self, d: int) -> ast.AST:
        return ast.IfExp(test=self.expr(d), body=self.expr(d), orelse=self.expr(d))

    def named(self, d: int) -> ast.AST:
        return ast.NamedExpr(target=self.name(), value=self.expr(d))

    def arg(self, name: str) -> ast.arg:
        return ast.arg(arg=name, annotation=None)

    def lambda_(self, d: int) -> ast.AST:
        count = self.rng.randrange(3)
        optional = self.rng.random() < 0.5
        args = ast.arguments(
            posonlyargs=[self.arg("p")] if self.rng.random() < 0.3 else [],
            args=[self.arg("xyz"[i]) for i in range(count)],
            vararg=self.arg("args") if self.rng.random() < 0.3 else None,
            kwonlyargs=[self.arg("k"), self.arg("l")] if self.rng.random() < 0.3 else [],
            kw_defaults=[],
            kwarg=self.arg("kwargs") if self.rng.random() < 0.3 else None,
            defaults=[self.expr(d)] if count and optional else [],
        )
        args.kw_defaults = [self.expr(d) if optional else None for _ in args.kwonlyargs]
        return ast.Lambda(args=args, body=self.expr(d))

    def call(self, d: int) -> ast.AST:
        keywords = [
            ast.keyword(arg=name, value=self.expr(d))
            for name in self.rng.sample(["k", "l", None], self.rng.randrange(3))
        ]
        return ast.Call(func=self.expr(d), args=self.many(self.starred, d), keywords=keywords)

    def attribute(self, d: int) -> ast.AST:
        return ast.Attribute(value=self.expr(d), attr="attr")

    def slice(self, d: int) -> ast.AST:
        parts = [self.expr(d) if self.rng.random() < 0.5 else None for _ in range(3)]
        return ast.Slice(lower=parts[0], upper=parts[1], step=parts[2])

    def subscript(self, d: int) -> ast.AST:
        kind = self.rng.randrange(4)
        index = self.expr(d)
        if kind == 1:
            index = self.slice(d)
        elif kind == 2:
            index = ast.Tuple(
                elts=self.many(lambda n: self.rng.choice([self.slice, self.expr])(n), d, 1)
            )
        elif kind == 3:
            index = ast.Tuple(elts=self.many(self.starred, d))
        return ast.Subscript(value=self.expr(d), slice=index)

    def display(self, d: int) -> ast.AST:
        kind = self.rng.choice([ast.Tuple, ast.List, ast.Set])
        return kind(elts=self.many(self.starred, d, 1 if kind is ast.Set else 0))

    def dict_(self, d: int) -> ast.AST:
        values = self.many(self.expr, d)
        keys = [self.expr(d) if self.rng.random() < 0.8 else None for _ in values]
        return ast.Dict(keys=keys, values=values)

    def generators(self, d: int) -> "List[ast.AST]":
        return [
            ast.comprehension(
                target=self.rng.choice([self.name(), ast.Tuple(elts=[self.name(), self.name()])]),
                iter=self.expr(d),
                ifs=self.many(self.expr, d),
                is_async=int(self.rng.random() < 0.1),
            )
            for _ in range(self.rng.choice([1, 1, 2]))
        ]

    def comprehension(self, d: int) -> ast.AST:
        kind = self.rng.choice([ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp])
        if kind is ast.DictComp:
            return kind(key=self.expr(d), value=self.expr(d), generators=self.generators(d))
        return kind(elt=self.expr(d), generators=self.generators(d))

    def await_(self, d: int) -> ast.AST:
        return ast.Await(value=self.expr(d))

    def yield_(self, d: int) -> ast.AST:
        return self.rng.choice(
            [
                ast.Yield(value=None),
                ast.Yield(value=self.expr(d)),
                ast.YieldFrom(value=self.expr(d)),
            ]
        )

    def format_values(self, d: int, level: int) -> "List[ast.AST]":
        values: List[ast.AST] = []
        for _ in range(self.rng.choice([0, 1, 2, 3])):
            if self.rng.random() < 0.4:
                # Until 3.12 a spec has no way to say \N, a line end or a quote of its f-string.
                text = self.rng.choice([">", "<10", "x{", "}", "'"]) if level else self.text()
                values.append(ast.Constant(value=text))
            else:
                spec = None
                if self.rng.random() < 0.3 and level < 1:
                    spec = ast.JoinedStr(values=self.format_values(d, level + 1))
                values.append(
                    ast.FormattedValue(
                        value=self.expr(d),
                        conversion=self.rng.choice([-1, ord("r"), ord("s")]),
                        format_spec=spec,
                    )
                )
        return values

    def format_string(self, d: int) -> ast.AST:
        return ast.JoinedStr(values=self.format_values(d, 0))

    MAKERS = (
        binary,
        boolean,
        unary,
        compare,
        conditional,
        named,
        lambda_,
        call,
        attribute,
        subscript,
        display,
        dict_,
        comprehension,
        await_,
        yield_,
        format_string,
        format_string,
    )

    def statement(self, depth: int) -> "List[ast.AST]":
        """Return statements in which expressions stand where places differ in what they accept."""
        e = self.expr
        body = [ast.Pass()]
        target = self.name()
        items = [ast.withitem(context_expr=e(depth), optional_vars=None)]
        makers: List[Callable[[], ast.AST]] = [
            lambda: ast.Expr(value=e(depth)),
            lambda: ast.Return(value=e(depth)),
            lambda: ast.Assign(targets=[target], value=e(depth), type_comment=None),
            lambda: ast.AugAssign(target=target, op=ast.Add(), value=e(depth)),
            lambda: ast.AnnAssign(target=target, annotation=e(depth), value=e(depth), simple=1),
            lambda: ast.AnnAssign(target=target, annotation=e(depth), value=None, simple=0),
            lambda: ast.For(
                target=target, iter=e(depth), body=body, orelse=body, type_comment=None
            ),
            lambda: ast.While(test=e(depth), body=body, orelse=[]),
            lambda: ast.If(
                test=e(depth), body=body, orelse=[ast.If(test=e(depth), body=body, orelse=body)]
            ),
            lambda: ast.With(
                items=items * self.rng.choice([1, 1, 2]), body=body, type_comment=None
            ),
            lambda: ast.Raise(exc=e(depth), cause=e(depth)),
            lambda: ast.Assert(test=e(depth), msg=e(depth)),
        ]
        return [self.rng.choice(makers)()]


def check_trees(tool: str, rng: random.Random, count: int) -> int:
    """Print random statements and parse them; return how many failed."""
    trees = Trees(rng)
    wanted = []
    for _ in range(count):
        # The `pass` keeps a lone string from being a docstring.
        body = [ast.Pass(), *trees.statement(rng.randrange(5))]
        wanted.append(serialize(ast.Module(body=body, type_ignores=[])))
    failed = 0
    unfit = 0
    for tree, (text, problems) in zip(wanted, reprint(tool, wanted)):
        if problems:
            unfit += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reason = difference(tree, text)
        if reason:
            failed += 1
            if failed <= 10:
                print(f"{text}\n    {reason}")
    modern = sys.version_info >= (3, 12)
    if unfit > (0 if modern else count // 4):
        print(f"{unfit} of {count} cannot be written")
        failed += 1
    return failed


FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e16,
    1e-5,
    0.1,
    123456.789,
    float("inf"),
    -float("inf"),
    float("nan"),
]


def random_constant(rng: random.Random, depth: int = 2) -> Any:
    def real() -> float:
        if rng.random() < 0.6:
            return rng.choice(FLOATS)
        return struct.unpack("d", struct.pack("Q", rng.getrandbits(64)))[0]

    def text() -> str:
        spans = [(0, 256), (0, 0x110000), (0xD7F0, 0xE010), (0x2000, 0x2100), (32, 127)]
        low, high = rng.choice(spans)
        return "".join(chr(rng.randrange(low, high)) for _ in range(rng.randrange(8)))

    makers: List[Callable[[], Any]] = [
        lambda: rng.choice([None, True, False, Ellipsis]),
        lambda: rng.choice([-1, 1]) * rng.getrandbits(rng.choice([4, 63, 64, 65, 200])),
        real,
        lambda: complex(real(), real()),
        text,
        lambda: bytes(rng.randrange(256) for _ in range(rng.randrange(8))),
    ]
    if depth:
        items = lambda: [random_constant(rng, depth - 1) for _ in range(rng.randrange(4))]  # noqa: E731
        makers.append(lambda: tuple(items()))
        makers.append(lambda: frozenset(items()))
    return rng.choice(makers)()


def essence(value: Any) -> Any:
    """Return what tells constants apart: types, signs of zero; but any NaN is like any other."""
    if isinstance(value, float):
        return "float", "nan" if value != value else value.hex()
    if isinstance(value, complex):
        return "complex", essence(value.real), essence(value.imag)
    if isinstance(value, tuple):
        return "tuple", [essence(item) for item in value]
    if isinstance(value, frozenset):
        return "frozenset", sorted(str(essence(item)) for item in value)
    return type(value).__name__, value


def folded(source: str) -> Any:
    """Return the value of an expression that the compiler folds, without running anything."""
    code = compile(source, "<literal>", "eval")
    assert isinstance(code, types.CodeType)
    return eval(code, {"frozenset": frozenset, "__builtins__": {}})


def is_folded(source: str) -> bool:
    code = compile(f"x = {source}", "<literal>", "exec")
    return len(code.co_code) <= (16 if sys.version_info >= (3, 11) else 8)


def instruction(value: Any) -> str:
    writer = Serializer()
    writer.constant(value)
    return "\n".join(writer.out) + "\nq\n"


def check_constants(tool: str, rng: random.Random, count: int) -> int:
    """Print random constants and evaluate them; return how many failed."""
    values = [random_constant(rng) for _ in range(count)]
    values += [complex(a, b) for a in FLOATS for b in FLOATS]
    values += [10**4299, 10**4300 - 1, 10**4300, -(10**4299), 16**5000]
    failed = 0
    for value, (text, problems) in zip(values, reprint(tool, map(instruction, values))):
        wanted = essence(value)
        ok = not problems and essence(folded(text)) == wanted
        if ok and "frozenset" not in text:
            ok = is_folded(text)
        if not ok:
            failed += 1
            if failed <= 10:
                print(f"{value!r:.200} printed as {text:.200}")
    return failed + check_places(tool, [v for v in values if isinstance(v, (int, float, complex))])


def check_places(tool: str, values: "List[Any]") -> int:
    """Print numbers as operands, where a sign or a sum needs parentheses."""
    makers: List[Callable[[Any], Any]] = [
        lambda c: ast.BinOp(left=c, op=ast.Pow(), right=ast.Constant(value=0)),
        lambda c: ast.BinOp(left=ast.Constant(value=1), op=ast.Pow(), right=c),
        lambda c: ast.BinOp(left=ast.Constant(value=1), op=ast.Mult(), right=c),
        lambda c: ast.BinOp(left=c, op=ast.Mult(), right=ast.Constant(value=1)),
        lambda c: ast.UnaryOp(op=ast.USub(), operand=c),
        lambda c: ast.Attribute(value=c, attr="real"),
    ]
    oracle: List[Callable[[Any], Any]] = [
        lambda v: v**0,
        lambda v: 1**v,
        lambda v: 1 * v,
        lambda v: v * 1,
        lambda v: -v,
        lambda v: v.real,
    ]
    values = [v for v in values if isinstance(v, complex) or abs(v) < 2**64][:300]
    cases = [(make, expected, v) for make, expected in zip(makers, oracle) for v in values]
    trees = [
        serialize(ast.Module(body=[ast.Expr(value=make(ast.Constant(value=v)))], type_ignores=[]))
        for make, _, v in cases
    ]
    failed = 0
    for (_, expected, value), (text, _) in zip(cases, reprint(tool, trees)):
        if essence(folded(text.strip())) != essence(expected(value)):
            failed += 1
            print(f"{value!r} in {text}")
    return failed


def main(tool: str, seed: int, count: int) -> int:
    sys.setrecursionlimit(20_000)
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed = check_trees(tool, rng, count) + check_constants(tool, rng, count)
    print("%d.%d: %d failures" % (*sys.version_info[:2], failed))
    return 1 if failed else 0


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[2:]] or [0, 3000]
    sys.exit(main(sys.argv[1], *numbers))
