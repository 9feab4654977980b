"""Recompiled code may stand in for the original: what callers and Dynamo look at is the same."""

import sys
from types import CodeType, FunctionType
from typing import Any, Dict

import pellucid
import pytest
from pellucid import decompile_ex
from pellucid.errors import CannotStandIn
from pellucid.recompile import stand_in


def interface(code: CodeType) -> Dict[str, Any]:
    fields = ["co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags"]
    fields += ["co_varnames", "co_cellvars", "co_freevars"]
    fields += ["co_qualname"] if sys.version_info >= (3, 11) else []
    return {field: getattr(code, field) for field in fields}


CO_NESTED = 0x10


def make_outer() -> FunctionType:
    def outer() -> Any:
        return lambda: 1

    return outer  # type: ignore[return-value]


def make() -> FunctionType:
    zeta = 1
    alpha = 2

    def inner(x: int, *args: int, key: int = 3, **kw: int) -> Any:
        later = [zeta, alpha, x]
        return lambda: (later, x, zeta)

    return inner  # type: ignore[return-value]


INNER = """
def inner(x, *args, key, **kw):
    later = [zeta, alpha, x]
    return lambda: (later, x, zeta)
"""


def test_arguments_cells_free_variables_and_names_are_kept() -> None:
    original = make().__code__
    made = stand_in(INNER, original, "inner.py")
    assert interface(made) == interface(original)
    assert made.co_filename == "inner.py"
    assert made.co_firstlineno == 2
    nested = next(c for c in made.co_consts if isinstance(c, CodeType))
    theirs = next(c for c in original.co_consts if isinstance(c, CodeType))
    assert interface(nested) == interface(theirs)


def test_free_variables_come_in_the_order_of_the_original() -> None:
    function = make()
    original = function.__code__
    # The compiler sorts; generated code need not. Here the names alone change places.
    assert original.co_freevars == ("alpha", "zeta")
    wanted = original.replace(co_freevars=("zeta", "alpha"))
    made = stand_in(INNER, wanted, "inner.py")
    alpha, zeta = function.__closure__ or ()
    run = FunctionType(made, {}, "inner", None, (zeta, alpha))
    assert run(7, key=0)() == ([1, 2, 7], 7, 1)


def test_locals_cells_and_free_variables_without_a_use_are_kept() -> None:
    original = make().__code__
    made = stand_in("def inner(x, *args, key, **kw):\n    return None\n", original, "inner.py")
    assert made.co_freevars == original.co_freevars
    assert set(made.co_cellvars) == set(original.co_cellvars)
    assert {*original.co_varnames} <= {*made.co_varnames, *made.co_cellvars}


def make_nested() -> FunctionType:
    def outer(a: int, b: int, c: int) -> Any:
        if a:

            def inner() -> Any:
                return lambda: (a, b)
        else:

            def inner() -> Any:
                return lambda: (b, a)

        def other() -> Any:
            return c

        return inner, other

    return outer  # type: ignore[return-value]


def test_functions_inside_that_are_named_keep_the_variables_that_they_have_no_use_for() -> None:
    original = make_nested().__code__
    source = """
def outer(a, b, c):
    if a:
        def inner():
            return None
    else:
        def inner():
            return lambda: a
    def other():
        pass
    return inner, other
"""
    made = stand_in(source, original, "outer.py", nested=("inner", "other"))
    ours, theirs = (
        [
            (const.co_name, const.co_freevars)
            for const in code.co_consts
            # Since 3.14 annotations are made by a function.
            if isinstance(const, CodeType) and const.co_name != "__annotate__"
        ]
        for code in (made, original)
    )
    assert ours == theirs
    made = stand_in(source, original, "outer.py", nested=("other",))
    assert [c.co_freevars for c in made.co_consts if hasattr(c, "co_name")] == [(), ("a",), ("c",)]


def test_a_function_may_name_itself() -> None:
    def f(n: int) -> int:
        return 1 if n == 0 else n * f(n - 1)

    source = "def f(n):\n    return 1 if n == 0 else n * f(n - 1)\n"
    original = f.__code__
    assert interface(stand_in(source, original, "f.py")) == interface(original)


def test_opaque_constants_are_constants_again() -> None:
    def thing(*args: object) -> object:
        return args

    def f(a: object) -> None:
        pass

    source = "def f(a):\n    return [_const(a), _const, (lambda: _const(1))()]\n"
    made = stand_in(source, f.__code__, "f.py", {}, {"_const": thing})
    assert FunctionType(made, {})(5) == [(5,), thing, (1,)]
    assert "_const" not in FunctionType(made, {}).__globals__


def test_more_constants_than_a_byte_can_count() -> None:
    names = {f"_const_{n}": object() for n in range(300)}

    def f() -> None:
        pass

    source = "def f():\n    return [" + ", ".join(names) + "]\n"
    if sys.version_info < (3, 11):
        # Before 3.11 an instruction has no cache to grow into; the error is clear.
        try:
            made = stand_in(source, f.__code__, "f.py", {}, names)
        except CannotStandIn:
            return
    else:
        made = stand_in(source, f.__code__, "f.py", {}, names)
    assert FunctionType(made, {})() == list(names.values())


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1\n", "0 function definitions"),
        ("def inner(y, *args, key, **kw):\n    pass\n", "arguments have different names"),
        ("def inner(x, *args, **kw):\n    pass\n", "co_kwonlyargcount"),
        ("def inner(x, *args, key, **kw):\n    yield\n", "flags differ"),
    ],
)
def test_what_cannot_stand_in_says_why(source: str, reason: str) -> None:
    with pytest.raises(CannotStandIn, match=reason):
        stand_in(source, make().__code__, "inner.py")


def test_a_renamed_variable_gets_its_name_back() -> None:
    original = (x for x in ()).gi_code
    made = stand_in(
        "def _genexpr(_0):\n    for x in _0:\n        yield x\n", original, "g.py", {"_0": ".0"}
    )
    assert made.co_varnames[:1] == (".0",)
    assert made.co_name == "<genexpr>"


def test_locals_that_the_source_never_names_are_kept() -> None:
    # Dynamo looks the locals of the code that it replaced up by name, used or not.
    def original(x: int) -> int:
        unused = later = x  # noqa: F841
        return x

    made = stand_in("def original(x):\n    return x\n", original.__code__, "original.py")
    assert {*made.co_varnames} == {"x", "unused", "later"}
    assert made.co_nlocals == 3
    assert FunctionType(made, {})(5) == 5


def test_functions_inside_have_the_flags_that_they_were_compiled_with() -> None:
    # As a resume function has that Dynamo makes: a function of code that stood at the top of
    # its module.
    outer = make_outer().__code__
    nested = next(c for c in outer.co_consts if isinstance(c, CodeType))
    assert nested.co_flags & CO_NESTED
    moved = nested.replace(co_flags=nested.co_flags & ~CO_NESTED)
    original = outer.replace(
        co_consts=tuple(moved if const is nested else const for const in outer.co_consts)
    )
    made = stand_in("def outer():\n    return lambda: 1\n", original, "outer.py")
    again = next(c for c in made.co_consts if isinstance(c, CodeType))
    assert again.co_flags == moved.co_flags


class Holder:
    def method(self, x: int) -> int:
        return x + 1


def test_a_method_keeps_what_says_that_it_is_one() -> None:
    original = Holder.method.__code__
    made = stand_in("def method(self, x):\n    return x + 1\n", original, "method.py")
    assert made.co_flags == original.co_flags
    verdict = pellucid.decompile_ex(Holder.method).verdict
    assert verdict.status == "identical", verdict.reason


class Held:
    """A class with a method, a lambda function and a static method."""

    later = lambda self: self  # noqa: E731

    def method(self) -> int:
        """Return one."""
        return 1

    @staticmethod
    def apart() -> int:
        return 1


@pytest.mark.parametrize("name", ["later", "method", "apart"])
def test_what_a_class_body_makes_says_so_of_itself(name: str) -> None:
    # Since 3.14 a flag says that a function was made in a class body.
    original = getattr(Held, name).__code__
    found = decompile_ex(original)
    assert found.verdict.status == "identical"
    assert interface(found.compile()) == interface(original)
