# SPDX-License-Identifier: Apache-2.0
"""Programs that grow: each family is one construct, repeated or nested `n` times.

`FAMILIES` maps a name to a `Family`: the sizes to measure, the oldest version of the syntax, and
the function from a size to the source. `compile_all` turns them into .pyc files with any
interpreter. The bench fits exponents to them, the tests compare two sizes of each.
"""

import json
import subprocess
from pathlib import Path
from typing import Callable, Dict, Iterable, List, NamedTuple, Sequence, Tuple

ROW = (20, 60, 200, 600, 2000)
LONG = (1000, 10000, 100000, 1000000)  # the bench leaves out the last unless it is asked for
NEST = (10, 20, 30, 45, 60, 90)
DEEP = (10, 20, 40, 60)


class Family(NamedTuple):
    """One construct: the sizes to measure it at, how to write it, and since which 3.x."""

    sizes: Tuple[int, ...]
    source: Callable[[int], str]
    since: int = 8


def in_function(lines: Iterable[str], head: str = "def f(a, b, c, d, x, y):") -> str:
    """Return a function of these lines."""
    return head + "\n" + "".join(f"    {line}\n" for line in lines)


def row(*lines: str, head: str = "def f(a, b, c, d, x, y):") -> Callable[[int], str]:
    """Repeat lines in one function; `{i}` is the number of the repetition."""

    def source(n: int) -> str:
        return in_function(
            (line.replace("{i}", str(i)) for i in range(n) for line in lines), head=head
        )

    return source


def inside(*head: str, each: Sequence[str], tail: Sequence[str] = ()) -> Callable[[int], str]:
    """Repeat lines within a statement of a function; they bring their own indentation."""

    def source(n: int) -> str:
        body = [line.replace("{i}", str(i)) for i in range(n) for line in each]
        return in_function([*head, *body, *tail])

    return source


def expression(first: str, each: str, last: str = "", lead: str = "x = ") -> Callable[[int], str]:
    """One statement whose expression has a part for each of `n`."""

    def source(n: int) -> str:
        parts = "".join(each.replace("{i}", str(i)) for i in range(n))
        return in_function([lead + first + parts + last])

    return source


def nested(*openers: str, most: int = 100) -> Callable[[int], str]:
    """Nest blocks, one opener after the other in turn.

    CPython allows 20 loops and regions at once in a function: past `most` of the others there are
    only `if`s.
    """

    def source(n: int) -> str:
        lines: List[str] = []
        closers: List[str] = []
        blocks = 0
        for i in range(n):
            opener = openers[i % len(openers)]
            if not opener.startswith("if"):
                blocks += 1
                if blocks > most:
                    opener = "if a[{i}]:"
            lines.append(" " * i + opener.replace("{i}", str(i)))
            if opener == "try:":
                which = "except E{i}:" if i % 2 else "finally:"
                closers.append(" " * i + which.replace("{i}", str(i)))
                closers.append(" " * (i + 1) + f"g({i})")
            else:
                closers.append(" " * i + f"h({i})")
                closers.append("")
        lines.append(" " * n + "x()")
        for k in range(len(closers) - 2, -1, -2):
            lines += [line for line in closers[k : k + 2] if line]
        return in_function(lines)

    return source


def brackets(left: str, right: str, middle: str) -> Callable[[int], str]:
    """An expression in `n` pairs of brackets."""
    return lambda n: in_function([f"x = {left * n}{middle}{right * n}"])


def elif_chain(n: int) -> str:
    """Write one `if` with `n` arms."""
    lines = ["if a == 0:", "    g(0)"]
    for i in range(1, n):
        lines += [f"elif a == {i}:", f"    g({i})"]
    return in_function([*lines, "else:", "    h()", "return a"])


def elif_raise_chain(n: int) -> str:
    """Write one `if` with `n` arms that raise."""
    lines = ["if a == 0:", "    raise E(0)"]
    for i in range(1, n):
        lines += [f"elif a == {i}:", f"    raise E({i})"]
    return in_function([*lines, "else:", "    raise E()"])


def else_if_nest(n: int) -> str:
    """Arms that return, one test after the other."""
    return in_function([*(f"if a == {i}: return g({i})" for i in range(n)), "return h()"])


def modules(n: int) -> str:
    """Write a module of functions and classes."""
    parts = []
    for i in range(n):
        parts.append(
            f"def f{i}(a, b={i}, *c, **d):\n    'doc {i}'\n    for x in a:\n"
            f"        if x > {i}:\n            return b\n    return lambda y: y + x\n"
            f"class C{i}(f{i}):\n    x = {i}\n    def m(self, a: int) -> str:\n"
            f"        return super().m(a)\n"
        )
    return "".join(parts)


MIXED = (
    "if a[{i}]:",
    "for x{i} in b:",
    "if b[{i}]:",
    "try:",
    "if c[{i}]:",
    "with d({i}) as y{i}:",
    "if x[{i}]:",
    "while c({i}):",
    "if d[{i}]:",
    "if y[{i}]:",
)

FAMILIES: Dict[str, Family] = {
    # One long function.
    "statements": Family(LONG, row("x{i} = g(a, {i}).b", "a.c[{i}] = x{i} + {i}")),
    "stores": Family(LONG, row("a = b")),
    "calls": Family(LONG, row("g({i})")),
    "augmented": Family(LONG, row("a.x += {i}", "a[b] *= c")),
    "module-level": Family(LONG, lambda n: "".join(f"x{i} = g({i})\n" for i in range(n))),
    "imports": Family(LONG, row("import a.b{i} as c{i}", "from d import e{i}, h{i} as j{i}")),
    # In a row.
    "if": Family(ROW, row("if a[{i}]: g({i})")),
    "if-else": Family(ROW, row("if a[{i}]:", "    g({i})", "else:", "    h({i})")),
    "if-return": Family(ROW, else_if_nest),
    "if-and-or": Family(ROW, row("if a and b or c[{i}] and not d: g({i})")),
    "if-raise": Family(ROW, row("if a[{i}]: raise E({i})")),
    "if-raise-then": Family(ROW, row("if a[{i}]:", "    raise E({i})", "g({i})")),
    "elif": Family(ROW, elif_chain),
    "elif-raise": Family(ROW, elif_raise_chain),
    "assert": Family(ROW, row("assert a[{i}], b")),
    "ternary": Family(ROW, row("x = a if b[{i}] else c")),
    "and-value": Family(ROW, row("x = a and b[{i}] or c")),
    "chain": Family(ROW, row("x = a < b[{i}] < c")),
    "for": Family(ROW, row("for x in a[{i}]: g(x)")),
    "for-break-else": Family(
        ROW, row("for x in a[{i}]:", "    if x: break", "    g(x)", "else:", "    h({i})")
    ),
    "while": Family(ROW, row("while a[{i}]: g({i})")),
    "while-pass": Family(ROW, row("while a[{i}]: pass")),
    "while-true": Family(ROW, row("while True:", "    if a({i}): break", "    g({i})")),
    "while-and": Family(
        ROW, row("while a[{i}] and b:", "    if c: continue", "    if d: break", "    g()")
    ),
    "with": Family(ROW, row("with a({i}) as x: g(x)")),
    "with-return": Family(ROW, row("with a({i}) as x:", "    if x: return g(x)", "    h()")),
    "async-with": Family(
        ROW, row("async with a({i}) as x: g(x)", head="async def f(a, b, c, d, x, y):")
    ),
    "async-for": Family(
        ROW, row("async for x in a({i}): g(x)", head="async def f(a, b, c, d, x, y):")
    ),
    "await": Family(ROW, row("x = await a({i})", head="async def f(a, b, c, d, x, y):")),
    "yield": Family(ROW, row("x = yield a({i})", "yield from b")),
    "try-except": Family(ROW, row("try:", "    g({i})", "except E: h({i})")),
    "try-bare": Family(ROW, row("try:", "    g({i})", "except: h({i})")),
    "try-except-as": Family(
        ROW, row("try:", "    g({i})", "except E as e: h(e)", "except (A, B) as e: raise C from e")
    ),
    "try-else": Family(ROW, row("try:", "    g({i})", "except E: pass", "else:", "    h({i})")),
    "try-return": Family(ROW, row("try:", "    return g({i})", "except E: pass")),
    "try-finally": Family(ROW, row("try:", "    g({i})", "finally:", "    h({i})")),
    "try-finally-return": Family(
        ROW, row("try:", "    if g({i}): return a", "finally:", "    h({i})")
    ),
    "try-all": Family(
        ROW,
        row(
            "try:",
            "    g({i})",
            "except E as e:",
            "    h(e)",
            "else:",
            "    a()",
            "finally:",
            "    b()",
        ),
    ),
    "try-star": Family(ROW, row("try:", "    g({i})", "except* E as e: h(e)"), since=11),
    "except-clauses": Family(
        ROW, inside("try:", "    g()", each=("except E{i} as e:", "    h(e, {i})"))
    ),
    "try-in-loop": Family(
        ROW,
        inside("for x in a:", each=("    try:", "        g(x)", "    except E: continue")),
    ),
    "with-in-loop": Family(
        ROW,
        inside("for x in a:", each=("    with g(x):", "        if x: break", "        h({i})")),
    ),
    "if-continue": Family(
        ROW, inside("for x in a:", each=("    if x == {i}: continue", "    g(x)"))
    ),
    "if-continue-in-with": Family(
        ROW,
        inside(
            "for x in a:", "    with x:", each=("        if x == {i}: continue", "        g(x)")
        ),
    ),
    "if-return-in-with": Family(ROW, inside("with a:", each=("    if b[{i}]: return", "    g(x)"))),
    "try-as-return": Family(ROW, row("try: g({i})", "except E as e: return")),
    "if-break": Family(
        ROW, inside("while True:", each=("    if x == {i}: break", "    g(x)"), tail=["return a"])
    ),
    "loop-in-loop": Family(
        ROW, inside("for x in a:", each=("    for y in x:", "        if y: break", "        g(y)"))
    ),
    "if-in-try": Family(
        ROW,
        inside(
            "try:",
            each=("    if a({i}): return b", "    g({i})"),
            tail=["except E: pass", "finally:", "    h()"],
        ),
    ),
    "if-in-with": Family(ROW, inside("with a:", each=("    if b({i}): return c({i})",))),
    "match-value": Family(
        ROW, inside("match a:", each=("    case {i}:", "        g({i})")), since=10
    ),
    "match-patterns": Family(
        ROW,
        inside(
            "match a:",
            each=(
                "    case [1, {i}, *x] | {'k': {i}, 'x': x}:",
                "        g(x)",
                "    case A(b={i}, c=B(x)) if x:",
                "        return h(x)",
            ),
        ),
        since=10,
    ),
    "matches": Family(
        ROW,
        row("match a[{i}]:", "    case [x, y]: g(x)", "    case {'k': x}: h(x)", "    case _: b()"),
        since=10,
    ),
    "comprehensions": Family(ROW, row("x = [y for y in a[{i}] if y]")),
    "generators": Family(ROW, row("x = sum(y + b for y in a[{i}] if y for c in y)")),
    "lambdas": Family(ROW, row("x = lambda y: y + a + {i}")),
    "functions": Family(ROW, modules),
    "functions-inside": Family(ROW, row("def g{i}(y): return y + a")),
    "classes-inside": Family(ROW, row("class C{i}(a):", "    def m(self): return a")),
    "unpack": Family(ROW, row("x, (y, *c) = a[{i}]", "x, y = y, x", "a.b = x = y")),
    "f-strings": Family(ROW, row("x = f'{a!r:>{b}} {i} {c}'")),
    "walrus": Family(ROW, row("if (x := a[{i}]) and x.y: g(x)")),
    "annotations": Family(ROW, lambda n: "".join(f"x{i}: List[a{i}] = {i}\n" for i in range(n))),
    # No line is free for a declaration but before the statement that has the name.
    "globals": Family(ROW, row("g(a[{i}])", "global x{i}", "x{i} = a")),
    "globals-nested": Family(ROW, row("if a[{i}]:", "    global x{i}", "    x{i} = a")),
    "delete": Family(ROW, row("del a[{i}], b.c", "x = 1", "del x")),
    # In one expression.
    "operands-and": Family(ROW, expression("a", " and b[{i}]")),
    "operands-or": Family(ROW, expression("a", " or b[{i}]")),
    "operands-if": Family(ROW, expression("a", " or b[{i}] and c", ": g()", lead="if ")),
    "operands-sum": Family(ROW, expression("a", " + b[{i}]")),
    "comparisons": Family(ROW, expression("a", " < b[{i}]")),
    "ternaries": Family(DEEP, expression("", "a if b[{i}] else ", "c")),
    "attributes": Family(ROW, expression("a", ".b{i}")),
    "method-calls": Family(ROW, expression("a", ".b({i})")),
    "subscripts": Family(ROW, expression("a", "[{i}]")),
    "arguments": Family(ROW, expression("g(", "a[{i}], ", ")")),
    "keywords": Family(ROW, expression("g(", "k{i}=a, ", ")")),
    "dict-display": Family(LONG, expression("{", "{i}: a, ", "}")),
    "dict-strings": Family(LONG, expression("{", "'k{i}': {i}, ", "}")),
    "list-display": Family(LONG, expression("[", "a, ", "]")),
    "list-constants": Family(LONG, expression("[", "{i}, ", "]")),
    "tuple-display": Family(LONG, expression("(", "a.b{i}, ", ")")),
    "set-display": Family(LONG, expression("{", "a[{i}], ", "}")),
    "display-rows": Family(ROW, expression("[", "(a, {'k': {i}, 'v': [b, c]}), ", "]")),
    "display-ternaries": Family(ROW, expression("[", "a if b else {i}, ", "]")),
    "f-string": Family(ROW, expression("f'", "{a[{i}]} and ", "'")),
    "targets": Family(ROW, expression("", "x{i} = ", "a", lead="")),
    "unpacked": Family(ROW, expression("", "x{i}, ", " = a", lead="")),
    "type-parameters": Family(
        LONG,
        lambda n: f"def f[{', '.join(f'T{i}' for i in range(n))}](): pass\n",
        since=12,
    ),
    "parameters": Family(
        (20, 60, 200), lambda n: f"def f({', '.join(f'a{i}={i}' for i in range(n))}): pass\n"
    ),
    "captures": Family(
        (20, 40, 80, 160),
        lambda n: in_function(
            ["match a:", f"    case C({', '.join(f'k{i}=x{i}' for i in range(n))}): g()"]
        ),
        since=10,
    ),
    # Names that only one statement each has: what is known of all is not looked at for each.
    "own-statements": Family(LONG, row("x{i} = [a, b, {i}]", "y{i} = a is b")),
    "own-if": Family(ROW, row("if a[{i}]: x{i} = g({i})")),
    "own-if-read": Family(ROW, row("if a[{i}]: x{i} = g({i})", "else: x{i} = a", "h(x{i})")),
    "own-for": Family(ROW, row("for x{i} in a({i}): y{i} = x{i}.b")),
    "own-with": Family(ROW, row("with a({i}) as x{i}, b({i}) as y{i}: g(x{i}, y{i})")),
    "own-try": Family(ROW, row("try: x{i} = g({i})", "except E as e{i}: y{i} = e{i}.a")),
    # One in the other.
    "nest-mixed": Family(NEST, nested(*MIXED, most=18)),
    "nest-if": Family(NEST, nested("if a[{i}]:")),
    "nest-for": Family((4, 8, 12, 16, 20), nested("for x{i} in a:")),
    "nest-while": Family((4, 8, 12, 16, 20), nested("while a({i}):")),
    "nest-try": Family((4, 8, 12, 16), nested("try:")),
    "nest-with": Family((4, 8, 12, 16, 20), nested("with a({i}) as x:")),
    "nest-functions": Family(
        (10, 20, 40, 80),
        lambda n: "".join(" " * i + f"def f{i}(a{i}):\n" for i in range(n)) + " " * n + "x()\n",
    ),
    "nest-lambda": Family(DEEP, expression("", "lambda a{i}: ", "a")),
    "nest-list": Family(DEEP, brackets("[a, ", "]", "b")),
    "nest-call": Family(DEEP, brackets("g(a, ", ")", "b")),
    "nest-dict": Family(DEEP, brackets("{'k': ", "}", "b")),
    "nest-unary": Family(DEEP, brackets("-", "", "b")),
    "nest-not": Family(DEEP, brackets("not ", "", "b")),
    "nest-power": Family(DEEP, expression("a", " ** b")),
    "nest-right": Family(DEEP, brackets("a - (", ")", "b")),
    "nest-comprehension": Family((4, 8, 12, 16), brackets("[", " for x in a]", "b")),
}

COMPILER = """
import importlib.util, json, marshal, sys, threading, warnings
warnings.simplefilter("ignore")
sys.setrecursionlimit(200000)
threading.stack_size(512 << 20)
def work():
    for line in sys.stdin:
        path, source = json.loads(line)
        try:
            code = compile(source, "grown.py", "exec", dont_inherit=True)
        except (SyntaxError, RecursionError, MemoryError) as error:
            print("no", path, error, flush=True)
            continue
        head = importlib.util.MAGIC_NUMBER + bytes(12)
        with open(path, "wb") as out:
            out.write(head + marshal.dumps(code))
        print("ok", path, flush=True)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def compile_sources(python: str, sources: Dict[Path, str]) -> List[Path]:
    """Write a .pyc for each source that `python` compiles; return those."""
    lines = "".join(json.dumps([str(path), text]) + "\n" for path, text in sources.items())
    done = subprocess.run(
        [python, "-c", COMPILER], input=lines, stdout=subprocess.PIPE, text=True, check=True
    )
    return [Path(line[3:]) for line in done.stdout.splitlines() if line.startswith("ok ")]
