"""Names that no source can write, and names that are two variables': neither tier is misled.

A verdict better than `unproven` says that the text, compiled, does what the code does.  So the code
is run, and the text is run beside it.
"""

import contextlib
import importlib.util
import io
import marshal
import sys
import types
from typing import Any, Callable, Dict, Iterator, Tuple

import pytest
from pellucid import decompile_ex, decompile_pyc

NAMES = ("co_names", "co_varnames", "co_freevars", "co_cellvars")
PROGRAMS = {
    "locals": "def f(arg):\n    one = 1\n    two = 20\n    for three in (300,):\n"
    "        one += 4000\n    return arg, one, two, three\nprint(f(5))\n",
    "arguments": "def f(one, two): return one - two\nprint(f(7, 3))\n",
    "only keywords": "def f(*, one, two): return one - two\nprint(callable(f))\n",
    "cells": "def f():\n    one = 1\n    two = 2\n    return lambda: (one, two)\nprint(f()())\n",
    "a local and a cell": "def f():\n    one = 1\n    two = 2\n    def g(): return two\n"
    "    return one, g()\nprint(f())\n",
    "globals": "one = 1\ntwo = 20\none += 4000\nprint(one, two)\n",
    "attributes": "class A: pass\na = A()\na.one = 1\na.two = 2\nprint(a.one, a.two)\n",
    "keywords": "def f(**k): return len(k)\nprint(f(one=1, two=2))\n",
    "functions": "def one(): return 1\ndef two(): return 2\nprint(one(), two())\n",
    "a class": "class one:\n    two = 1\nprint(one.two)\n",
    "imports": "import os as one\nfrom os import sep as two\nprint(one.sep == two)\n",
    "a handler": "try: 1/0\nexcept ZeroDivisionError as one: print(1)\n",
    "an annotation": "one: int = 1\ndef f(two: int = 2): return two\nprint(one, f())\n",
}
CHANGES = {
    "the same": ("x", "x"),
    "a ligature": ("\ufb01", "fi"),
    "composed": ("e\u0301a", "\xe9a"),
    "wide": ("\uff41", "a"),
    "marks out of order": ("a\u0301\u0323", "a\u0323\u0301"),
    "blanks": ("a b", "a_b"),
    "empty": ("", "two"),
    "debug": ("__debug__", "two"),
    "a keyword": ("class", "two"),
    "a soft keyword": ("match", "type"),
    "code": ("q\nprint('INJECTED')\nz", "two"),
    "a comment": ("q#", "two"),
    "a direction": ("a\u202e\u2066b", "two"),
    "a digit first": ("1a", "two"),
    "a lone surrogate": ("\ud800", "two"),
}


def renamed(code: types.CodeType, table: Dict[str, str]) -> types.CodeType:
    """A code object in which names are others, wherever they stand."""

    def of(value: Any) -> Any:
        if isinstance(value, types.CodeType):
            return renamed(value, table)
        if isinstance(value, tuple):
            return tuple(map(of, value))
        return table.get(value, value) if isinstance(value, str) else value

    changes: Dict[str, Any] = {kind: tuple(map(of, getattr(code, kind))) for kind in NAMES}
    changes.update(co_consts=of(code.co_consts), co_name=of(code.co_name))
    return code.replace(**changes)


def outcome(run: Callable[[Dict[str, Any]], Any]) -> Tuple[str, str]:
    """What running something prints, and what it raises."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            run({"__name__": "odd"})
        except Exception as error:
            return printed.getvalue(), type(error).__name__
    return printed.getvalue(), ""


def cases() -> Iterator[Any]:
    """Every program with every change that leaves code which Python makes a function of."""
    for program, text in PROGRAMS.items():
        for change, names in CHANGES.items():
            yield pytest.param(text, dict(zip(("one", "two"), names)), id=f"{program}-{change}")


@pytest.mark.parametrize("text, table", list(cases()))
def test_no_tier_proves_what_the_text_does_not_say(text: str, table: Dict[str, str]) -> None:
    try:
        code = renamed(compile(text, "odd.py", "exec"), table)
    except ValueError:
        pytest.skip("this Python refuses such a code object")
    result = decompile_pyc(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    assert "\nprint('INJECTED')" not in result.source
    statuses = {tier: result.verify(tier).status for tier in ("recompiled", "relowered")}
    if set(statuses.values()) == {"unproven"}:
        return
    source = result.source
    before = outcome(lambda scope: exec(code, scope))
    after = outcome(lambda scope: exec(compile(source, "odd.py", "exec"), scope))
    assert before == after, (statuses, source)


@pytest.mark.parametrize("program", ["locals", "cells", "a local and a cell"])
def test_what_stands_in_for_variables_of_one_name_does_the_same(program: str) -> None:
    code = renamed(compile(PROGRAMS[program], "odd.py", "exec"), {"one": "x", "two": "x"})
    inner = next(const for const in code.co_consts if isinstance(const, types.CodeType))
    result = decompile_ex(inner)
    if result.verdict.status == "unproven":
        return
    arguments = (5,) * inner.co_argcount
    functions = [types.FunctionType(one, {}) for one in (inner, result.compile())]
    before, after = (function(*arguments) for function in functions)
    assert (before() == after()) if callable(before) else (before == after)


def test_names_of_every_script_are_names() -> None:
    names = ["größe", "名前", "имя", "ชื่อ", "नाम", "x²"[:1], "ªb"[1:], "한글", "_ß"]
    text = "".join(f"{name} = {i}\n" for i, name in enumerate(names))
    pyc = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(text, "m.py", "exec"))
    result = decompile_pyc(pyc)
    assert result.source == text
    assert result.verify("relowered").status == "equivalent", sys.version


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="a flag says whether there is one")
def test_a_docstring_that_no_lambda_can_have_is_not_proven() -> None:
    whole = compile("f = lambda q: q * 2\n", "m.py", "exec")
    (inner,) = (const for const in whole.co_consts if isinstance(const, types.CodeType))
    assert types.FunctionType(inner, {}).__doc__ is None
    inner_with = inner.replace(co_consts=("a docstring", *inner.co_consts[1:]))
    assert types.FunctionType(inner_with, {}).__doc__ == "a docstring"
    consts = tuple(inner_with if const is inner else const for const in whole.co_consts)
    pyc = marshal.dumps(whole.replace(co_consts=consts))
    result = decompile_pyc(importlib.util.MAGIC_NUMBER + bytes(12) + pyc)
    statuses = {result.verify(tier).status for tier in ("recompiled", "relowered")}
    assert statuses == {"unproven"}


def test_names_of_a_generator_take_one_line() -> None:
    # pytest names the parts of a rewritten assert so.
    text = "def f(x):\n" + "".join(f"    a{n} = x + {n}\n    x = a{n} * 2\n" for n in range(40))
    code = renamed(compile(text, "m.py", "exec"), {f"a{n}": f"@py_assert{n}" for n in range(40)})
    result = decompile_pyc(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    comments = [line for line in result.marked(result.verdict).splitlines() if "# " in line]
    assert comments[1:4] == [
        "# - no names of a source: 40 that begin with '@', in 1 code object",
        "# pellucid: names that no source can write, and what they are:",
        "# - 40 names that begin with _ here, as _py_assert0, begin with @",
    ]
    assert len(comments) <= 6
    assert result.verdict.status == "unproven"
