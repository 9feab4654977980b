"""Where compilers look at the lines of an expression, the text has the lines of the original."""

import json
import subprocess
from typing import List, NamedTuple, Tuple

from pellucid import decompile_pyc

# 3.10 and 3.11 test a value once for two operations that share a line, and twice for others.
OPERATIONS = [
    "return (\n a\n and not b\n or c\n)",
    "return (\n (a\n and not b)\n or c\n)",
    "return (\n a\n or (not b and c)\n or a.b\n)",
    "return (\n a\n or (b is not c and c)\n or a.b\n)",
    "return a or (not b and c) or a.b",
    "x = (a\n or (b not in c\n and not c) or a.b)",
    "a(b=(\n (a and\n not b) or c), c=[c])",
    "a(b=(a and not b) or c, c=[c])",
    "return (a or (\n not b and c)) and not a or (\n b)",
    # Too long for a line of the usual length, which would be broken between them.
    "return (not c if c else b or c) and (a or a.first_of_them or not b.second_of_them or a"
    " and b) and (a.third_of_them and c and b != a)",
    "a[(b.first or b or c if c and b else a.second_of_them < c[0]) and b and c] = (not a or a or b"
    " or a.third_of_them) and a(c[0] or b, a(b.fourth_of_them, b))",
    # These get brackets of their own where no operand has to begin where the whole does.
    "return a.first_of_them(b, c) or b.second_of_them(c, a) or c.third_of_them(a, b)"
    " or a.last_of_them(b, c)",
    "return a.first_of_them(b, c) and b.second_of_them(c, a) or c.third_of_them(a, b)"
    " or a.last_of_them(b)",
    "return a.first_of_them(b, c) or (b.second_of_them(c, a) and c.third_of_them(a, b))"
    " or a.last_of_them(b)",
    "return a.first_of_them(b, c) or b.second_of_them(c, a)"
    " or (c.third_of_them(a, b) and a.last_of_them(b))",
    "x = a.first_of_them(b, c) and (b.second_of_them(c, a) or c.third_of_them(a, b))"
    " if b.last_of_them else a or c",
    "for x in a:\n    if x.first_of_them(b, c)"
    " and (b.second_of_them(c, a) or c.third_of_them(a, b))"
    " or a.last_of_them(b, c):\n        a(x)",
    "while a.first_of_them(b, c) and b.second_of_them(c, a)"
    " or c.third_of_them(a, b) and a.last_of_them(b):"
    "\n    if a.first_of_them(b, c) or b.second_of_them(c, a) and c.third_of_them(a, b)"
    " or a.last_of_them():\n        continue\n    b(c)",
    "a.first_of_them(b, c).x = b.second_of_them(c, a) if a.third_of_them(a, b) and b or c"
    " else a.last_of_them()",
]
# From 3.13 on the first of two stores to one name goes if they share a line.
STORES = [
    "a, b, b = c",
    "(\n a,\n b,\n b,\n) = c",
    "for (a,\n a) in b: pass",
]

_COMPILE = """
import importlib.util, json, marshal, sys
for source in json.load(sys.stdin):
    code = compile(source, "sample.py", "exec")
    pyc = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
    print(json.dumps([pyc.hex(), code.co_consts[0].co_code.hex()]))
"""


class Compiled(NamedTuple):
    """A module with one function: its `.pyc` and the bytecode of the function."""

    pyc: bytes
    bytecode: str


def compiled(python: str, sources: List[str]) -> List[Compiled]:
    done = subprocess.run(
        [python, "-W", "ignore", "-c", _COMPILE],
        input=json.dumps(sources).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [Compiled(bytes.fromhex(pyc), bytecode) for pyc, bytecode in rows]


def test_expressions_compile_to_the_same_bytecode(any_python: Tuple[str, str]) -> None:
    _, python = any_python
    bodies = [body.replace("\n", "\n     ") for body in OPERATIONS + STORES]
    sources = [f"def f(a, b, c):\n    {body}\n" for body in bodies]
    originals = compiled(python, sources)
    texts = [decompile_pyc(each.pyc).source for each in originals]
    again = compiled(python, texts)
    different = [text for text, a, b in zip(texts, originals, again) if a.bytecode != b.bytecode]
    assert len(again) == len(sources) and different == [], "\n".join(different)


# Each comes back as it stands here.
AS_WRITTEN = r"""
import re


def broken(rows, wanted, first_argument, second_argument, third_argument):
    total = sum(
        row['value'] * row['value'] + len(row['name'])
        for row in rows
        if row['kept'] and row['value'] > wanted
    )
    for key, value in (
        (first_argument, dict(second_argument=1)),
        ('second', second_argument, first_argument),
        ('third', third_argument),
    ):
        yield key, value
    wanted, total = (
        max(first_argument, second_argument, third_argument),
        [first_argument, second_argument, third_argument, total, wanted],
    )
    return (
        first_argument,
        second_argument,
        max(third_argument, first_argument, second_argument),
        [wanted, total],
    )


def shown(x, d, width):
    print(f'{x=} {x = } {x =} {x=!s} {x=:>{width}} {x=!r:5} {d["k"]=} {x.real + 1=}')
    print(f'wx={x!r} {x}={x} .x={x!r} x={x} x=={x!r}', f'{d}={(lambda: x)()!r}')
    return f'{x=}{width}=' if x else f'{{x}}={x!r}'


PATTERNS = [re.compile(r'(\w+)=(\d+)'), re.compile(rb'\s\[\\\]'), r'a "quoted" \. dot']
OTHERS = ['C:\\new', '\\', '\\d\\', '\\d\n', b'\\n\xff', '\\\\server', '\'\\.\'"']
"""


def test_text_has_the_layout_that_a_person_would_give_it(any_python: Tuple[str, str]) -> None:
    _, python = any_python
    source = AS_WRITTEN.lstrip()
    compiling = (
        "import importlib.util as u, marshal, sys;"
        "code = compile(sys.stdin.read(), 'sample.py', 'exec');"
        "sys.stdout.buffer.write(u.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))"
    )
    done = subprocess.run(
        [python, "-c", compiling], input=source.encode(), stdout=subprocess.PIPE, check=True
    )
    found = decompile_pyc(done.stdout)
    assert found.source == source
    assert found.verdict.at_least("equivalent"), found.verdict
