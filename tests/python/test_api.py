"""What `import pellucid` offers: sources, verdicts, line maps, and code that may stand in."""

import asyncio
import functools
import importlib.util
import marshal
import types
from typing import Any, AsyncIterator, Callable, Iterator, List, Sequence, Tuple

import pellucid
import pytest


def add(a: int, b: int) -> int:
    total = a + b
    return total


def test_a_function_comes_back_as_source() -> None:
    source = pellucid.decompile(add)
    scope: dict = {}
    exec(source, scope)
    assert scope["add"](2, 3) == 5
    assert "total = a + b" in source


def test_another_name_may_be_printed() -> None:
    assert pellucid.decompile(add, name="plus").startswith("def plus(a, b):")


class Thing:
    def method(self) -> "Thing":
        return self

    def generator(self) -> Iterator[int]:
        yield 1

    async def coroutine(self) -> int:
        return 1

    async def stream(self) -> AsyncIterator[int]:
        yield 1

    def __call__(self) -> None:
        return None


def test_everything_with_code_has_source() -> None:
    thing = Thing()
    coroutine = thing.coroutine()
    objects: List[Any] = [thing.method, thing.generator(), coroutine, thing.stream(), thing]
    objects += [functools.partial(add, 1), Thing.method, add.__code__, lambda x: x]
    for obj in objects:
        assert pellucid.decompile(obj).strip(), obj
    coroutine.close()


def test_what_has_no_code_is_a_type_error() -> None:
    for obj in (17, "text", len, int, None):
        with pytest.raises(TypeError):
            pellucid.decompile(obj)


def test_defaults_of_a_function_are_printed() -> None:
    marker = object()

    def f(
        a: int, b: Any = (1, "x"), *rest: int, key: Any = None, call: Any = len, m: Any = marker
    ) -> Any:
        return a, b, rest, key, call, m

    found = pellucid.decompile_ex(f)
    assert found.source.startswith(
        "def f(a, b=(1, 'x'), *rest, key=None, call=len, m=_default_m):\n"
    )
    scope = dict(found.globals)
    exec(found.source, scope)
    assert scope["f"](1) == f(1)


def counter() -> "Callable[[int], int]":
    zulu = 10
    alpha = 1

    def step(n: int, *, scale: int = 2) -> int:
        nonlocal zulu
        zulu += n * scale
        return zulu - alpha

    return step


def stands_in(function: Any) -> Any:
    """The function again, running recompiled code in its own closure."""
    found = pellucid.decompile_ex(function)
    assert found.verdict.at_least("equivalent"), f"{found.verdict}\n{found.source}"
    made = types.FunctionType(
        found.compile(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def test_recompiled_code_stands_in_for_a_closure() -> None:
    assert [stands_in(counter())(3), counter()(3)] == [15, 15]


def test_recompiled_code_stands_in_for_a_coroutine() -> None:
    async def twice(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    assert asyncio.run(stands_in(twice)(4)) == 8


def test_opaque_constants_are_bound_by_name() -> None:
    marker = [1, 2]

    def f() -> object:
        return 12345

    code = f.__code__
    consts = tuple(marker if c == 12345 else c for c in code.co_consts)
    found = pellucid.decompile_ex(code.replace(co_consts=consts))
    assert found.globals == {"_const_list": marker}
    assert "_const_list" in found.source
    assert found.verdict.at_least("equivalent"), str(found.verdict)
    assert types.FunctionType(found.compile(), {})() is marker


def test_names_that_are_no_identifiers_are_renamed_and_come_back() -> None:
    code = (lambda x: x + 1).__code__.replace(co_varnames=(".0",))
    found = pellucid.decompile_ex(code)
    assert found.renamed
    assert set(found.renamed.values()) >= {".0"}
    made = found.compile()
    assert made.co_varnames[0] == ".0"
    assert made.co_name == "<lambda>"
    assert types.FunctionType(made, {})(1) == 2


def test_the_line_map_leads_from_the_source_to_the_original() -> None:
    found = pellucid.decompile_ex(add)
    lines = found.source.splitlines()
    first = add.__code__.co_firstlineno
    by_text = {lines[e.line - 1].strip(): e for e in found.line_map}
    assert by_text["total = a + b"].original_line == first + 1
    assert by_text["return total"].original_line == first + 2
    assert by_text["return total"].offset is not None


def test_a_verdict_is_ordered() -> None:
    verdict = pellucid.Verdict("equivalent", "recompiled")
    assert verdict.at_least("unproven")
    assert verdict.at_least("equivalent")
    assert not verdict.at_least("identical")


def with_odd_names(code: types.CodeType) -> types.CodeType:
    """The code with names that a generator may take, and no source can write."""
    odd = {"x": "@x", "y": "@y", "attribute": "class"}

    def named(names: Sequence[str]) -> Tuple[str, ...]:
        return tuple(odd.get(name, name) for name in names)

    return code.replace(
        co_names=named(code.co_names),
        co_varnames=named(code.co_varnames),
        co_cellvars=named(code.co_cellvars),
        co_freevars=named(code.co_freevars),
        co_consts=tuple(
            with_odd_names(const) if isinstance(const, types.CodeType) else const
            for const in code.co_consts
        ),
    )


ODD = """\
import sys as x

def f(a):
    y = x.path
    a.attribute = lambda: (y, _x)
    return y
"""
FITTED = """\
import sys as _x_1


def f(a):
    _y = _x_1.path
    a._class = lambda: (_y, _x)
    return _y
"""


@pytest.mark.parametrize("tier", ["recompiled", "relowered"])
def test_names_that_no_source_can_write_are_others_and_no_proof(tier: str) -> None:
    code = with_odd_names(compile(ODD, "odd.py", "exec", dont_inherit=True))
    data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
    found = pellucid.decompile_pyc(data)
    assert found.source == FITTED
    assert found.renamed == {"_x_1": "@x", "_y": "@y", "_class": "class"}
    assert found.verify(tier).status == "unproven"


def test_names_that_no_source_can_write_come_back_in_what_runs() -> None:
    code = with_odd_names(compile(ODD, "odd.py", "exec", dont_inherit=True))
    (function,) = (const for const in code.co_consts if isinstance(const, types.CodeType))
    found = pellucid.decompile_ex(function)
    assert found.verdict.status in ("identical", "equivalent"), found.verdict.reason
    assert {"_y": "@y", "_x_1": "@x", "_class": "class"}.items() <= found.renamed.items()
    made = found.compile()
    assert (set(made.co_names), made.co_cellvars) == (set(function.co_names), ("@y",))
