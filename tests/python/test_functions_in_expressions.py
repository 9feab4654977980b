"""A function with statements where only an expression can stand.

No source text makes one, but code that was written by hand may: what a code object is called says
nothing of what it does.  Its `def` stands before the statement that it was found in, under a name
that nothing else has, and what holds it keeps its structure.
"""

import importlib.util
import marshal
import types

import pytest
from pellucid import decompile_pyc
from test_odd_names import outcome

# Each `lambda n: K` becomes a function of that name that makes a list of `n` times K in a loop.
PROGRAMS = {
    "an argument": "def call(f, g): return f(2), g(3)\nprint(call(lambda n: 1, lambda n: 2))\n",
    "an item": "print([f(2) for f in [lambda n: 1, lambda n: 2]])\n",
    "a default": "def h(f=lambda n: 1): return f(2)\nprint(h())\n",
    "a default by keyword": "def h(*, f=lambda n: 1): return f(2)\nprint(h())\n",
    "a default in a default": "print((lambda m=(lambda n: 1)(2): [m])())\n",
    "an annotation": "def h(a: (lambda n: 1)(2)): pass\nprint(len(h.__annotations__))\n",
    "a base": "def base(f): return type('B', (), {'x': f(2)})\n"
    "class C(base(lambda n: 1)): pass\nprint(C.x)\n",
    "an argument of a class": "class B:\n    def __init_subclass__(cls, f): cls.x = f(2)\n"
    "class C(B, f=lambda n: 1): pass\nprint(C.x)\n",
    "a decorator": "def d(f): return lambda g: f(2)\n@d(lambda n: 1)\ndef h(): pass\nprint(h)\n",
    "a decorator of a class": "def d(f): return lambda g: f(2)\n"
    "@d(lambda n: 1)\nclass C: pass\nprint(C)\n",
    "a target": "t = {}\nt[(lambda n: 1)(2)[0]] = 5\nprint(t)\n",
    "two targets": "t = {}\nt[(lambda n: 1)(2)[0]], t[(lambda n: 2)(2)[0]] = 5, 6\nprint(t)\n",
    "a target of a loop": "t = {}\nfor t[(lambda n: 1)(1)[0]] in [5, 6]: print(t)\n",
    "what is added to": "t = {1: 2}\nt[(lambda n: 1)(1)[0]] += 5\nprint(t)\n",
    "what is deleted": "t = {1: 2}\ndel t[(lambda n: 1)(1)[0]]\nprint(t)\n",
    "a name of a global": "_lambda = 7\nprint((lambda n: 1)(2), _lambda)\n",
    "a name of an argument": "def h(_lambda): return (lambda n: 1)(2), _lambda\nprint(h(3))\n",
    "a test": "if (lambda n: 1)(2): print(1)\nelif (lambda n: 2)(2): print(2)\n",
}


def with_statements(code: types.CodeType, name: str) -> types.CodeType:
    """The code with functions of that name for its lambdas that have an argument `n`."""

    def of(value: object) -> object:
        if not isinstance(value, types.CodeType):
            return value
        if value.co_name != "<lambda>" or value.co_varnames[:1] != ("n",):
            return with_statements(value, name)
        (number,) = (const for const in value.co_consts if isinstance(const, int))
        text = f"def f(n):\n out = []\n for i in range(n):\n  out.append({number})\n return out\n"
        (made,) = (
            const
            for const in compile(text, "made.py", "exec").co_consts
            if isinstance(const, types.CodeType)
        )
        return made.replace(co_name=name)

    return code.replace(co_consts=tuple(map(of, code.co_consts)))


@pytest.mark.parametrize("name", ["<lambda>", "<listcomp>"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_is_a_def_and_nothing_else_changes(program: str, name: str) -> None:
    code = with_statements(compile(PROGRAMS[program], "odd.py", "exec"), name)
    result = decompile_pyc(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    assert not result.diagnostics, (result.diagnostics, result.source)
    source = result.source
    before = outcome(lambda scope: exec(code, scope))
    after = outcome(lambda scope: exec(compile(source, "odd.py", "exec"), scope))
    assert before == after, source
    assert before[1] == "", before
