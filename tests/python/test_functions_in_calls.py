"""Functions that are made while a call waits on the stack: a statement has to make them before it.

Compilers make only lambdas there. Who generates code makes any function and leaves it on the stack.
"""

import types

import pytest
from pellucid import decompile_ex

HELPER = """
def f(a, b):
    def helper({parameters}):
        for y in a:
            g(y, b)
        return y

    return helper
"""
# The statement stands before what the call loads by name: nobody sees when a function is made.
BEFORE = {
    "the callee is a global": "return g(lambda: (a, b))",
    "arguments are loaded before it": "return g(a, h, lambda: (a, b), k)",
    "its default is a value": "return g(h, lambda x=7: (a, b))",
    "a call comes after it": "return g(lambda: (a, b), k=h(a))",
}
# What other code could tell apart is written in the order that it has.
IN_ORDER = {
    "a call comes before it": "return g(h(a), lambda: (a, b), k)",
    "the callee is an attribute": "return a.b(lambda: (a, b))",
    "the callee is an item": "return a[b](h, lambda: (a, b))",
    "the callee is what a call returns": "return g(a)(lambda: (a, b))",
    "it is an element": "x = [g(a), lambda: (a, b)]\nreturn x",
    "its default is computed": "return g(h, lambda x=k(): (a, b))",
    "its default for a keyword is computed": "return g(h, lambda *, x=k(): (a, b))",
    "it is decorated elsewhere": "x = h(a)\nhelper = g(x)(k(lambda: (a, b)))\nreturn helper, a.b",
}


def function_of(source):
    scope = {}
    exec(source, scope)
    return scope["f"]


def with_helper(body):
    """Return the code of `f(a, b)` with a function of several statements in place of its lambda."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    code = function_of(f"def f(a, b):\n{lines}").__code__
    (outer,) = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    names = outer.co_varnames
    parameters = ("*, " if outer.co_kwonlyargcount else "") + "=0, ".join([*names, ""])
    made = function_of(HELPER.format(parameters=parameters)).__code__
    (inner,) = [c for c in made.co_consts if isinstance(c, types.CodeType)]
    return code.replace(co_consts=tuple(inner if c is outer else c for c in code.co_consts))


@pytest.mark.parametrize("where", BEFORE)
def test_a_function_is_made_before_names_are_loaded(where):
    found = decompile_ex(with_helper(BEFORE[where]))
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    first, *_, last = found.source.rstrip().split("\n")[1:]
    assert first.startswith("    def helper(")
    assert last.lstrip() == BEFORE[where].replace("lambda x=7", "lambda").replace(
        "lambda: (a, b)", "helper"
    )


@pytest.mark.parametrize("where", IN_ORDER)
def test_a_function_is_made_after_what_may_be_seen(where):
    found = decompile_ex(with_helper(IN_ORDER[where]))
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    assert "    def helper(" in found.source


def test_a_function_is_of_the_module_that_it_was_made_in():
    code = with_helper("return g(h(a), lambda: (a, b))")
    stand_in = decompile_ex(code).compile()

    def module_of_helper(of):
        scope = {"__name__": "first", "g": lambda x, made: made.__module__}
        scope["h"] = lambda x: scope.update(__name__="second")
        return types.FunctionType(of, scope)(1, 2)

    assert module_of_helper(stand_in) == module_of_helper(code) == "second"


def test_a_decorator_stays_one():
    source = """
def f(a, b):
    @g(a)
    @h.k
    def helper(x):
        for y in x:
            g(y, b)

    return helper
"""
    found = decompile_ex(function_of(source), name="f")
    assert found.verdict.at_least("equivalent")
    assert found.source.strip() == source.strip()
