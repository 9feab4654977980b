"""Displays of any size: a program builds one with one instruction, a compiler piece by piece."""

import dis
import time
import types
from typing import Any, Callable, List

import pytest
from pellucid import _core, decompile_ex

ARGUMENT = object()


def built(operation: str, count: int, *loads: Any) -> types.CodeType:
    """Return the code of a function that builds a display of its argument and constants."""

    def f(x: Any) -> Any:
        return x

    code = f.__code__
    first, *_ = (i for i in dis.get_instructions(code) if i.opname.startswith("LOAD_FAST"))
    ends = [i for i in dis.get_instructions(code) if i.opname == "RETURN_VALUE"]
    raw = bytearray(code.co_code[: first.offset])

    def emit(name: str, arg: int) -> None:
        for shift in (16, 8):
            if arg >> shift:
                raw.extend((dis.EXTENDED_ARG, arg >> shift & 255))
        raw.extend((dis.opmap[name], arg & 255))

    consts: List[Any] = [None]
    for load in loads:
        if load is ARGUMENT:
            emit("LOAD_FAST", 0)
        else:
            emit("LOAD_CONST", len(consts))
            consts.append(load)
    emit(operation, count)
    raw += code.co_code[ends[0].offset :]
    return code.replace(co_code=bytes(raw), co_consts=tuple(consts), co_stacksize=len(loads) + 4)


def many(kind: str, count: int) -> types.CodeType:
    if kind == "dict of ints":
        loads = (n for i in range(count) for n in (-i, 10000 + i))
        return built("BUILD_MAP", count, *loads)
    if kind == "set":
        return built("BUILD_SET", count, *range(1000, 1000 + count))
    if kind == "dict":
        return built("BUILD_MAP", count, *(n for i in range(count) for n in (f"k{i}", 1000 + i)))
    if kind == "dict of few keys":
        loads = (n for i in range(count) for n in (f"k{i % 7}", 1000 + i))
        return built("BUILD_MAP", count, *loads)
    return built(
        "BUILD_TUPLE" if kind == "tuple" else "BUILD_LIST", count, *range(1000, 1000 + count)
    )


@pytest.mark.parametrize(
    "kind", ["dict", "dict of ints", "dict of few keys", "list", "tuple", "set"]
)
@pytest.mark.parametrize("count", [40, 300, 5000])
def test_a_large_display_is_proven(kind: str, count: int) -> None:
    code = many(kind, count)
    made = decompile_ex(code)
    if kind != "dict of few keys":
        assert made.verdict.at_least("equivalent"), made.verdict.reason
    run: Callable[[Any], Any] = lambda code: types.FunctionType(code, {})(0)  # noqa: E731
    ours, theirs = run(made.compile()), run(code)
    assert ours == theirs and type(ours) is type(theirs) and list(ours) == list(theirs)


@pytest.mark.parametrize("kind", ["dict", "dict of ints", "list", "tuple", "set"])
def test_one_item_of_a_large_display_that_differs_is_seen(kind: str) -> None:
    made = decompile_ex(many(kind, 5000))
    code = many(kind, 5000)
    assert 4321 in code.co_consts or -4321 in code.co_consts
    for other in (-1, 4321.5):
        consts = tuple(other if c in (4321, -4321) else c for c in code.co_consts)
        changed = code.replace(co_consts=consts)
        assert _core.compare_codes(changed, made.compile(), extra_locals=True)[0] == "unproven"


def test_the_items_of_a_large_set_are_hashed_in_order() -> None:
    code = built("BUILD_SET", 40, *(n for i in range(20) for n in (1000 + i, ARGUMENT)))
    made = decompile_ex(code)
    assert made.verdict.at_least("equivalent"), made.verdict.reason
    loads: List[Any] = [n for i in range(20) for n in (1000 + i, ARGUMENT)]
    loads[20], loads[22] = loads[22], loads[20]
    other = built("BUILD_SET", 40, *loads)
    assert _core.compare_codes(other, made.compile(), extra_locals=True)[0] == "unproven"


def test_keys_that_equal_others_are_no_plain_keys() -> None:
    for twin in (True, 1.0):
        loads = [n for i in range(40) for n in (i, 1000 + i)]
        loads[2 * 30] = twin
        code = built("BUILD_MAP", 40, *loads)
        made = decompile_ex(code)
        ours, theirs = (types.FunctionType(c, {})(0) for c in (made.compile(), code))
        assert list(ours.items()) == list(theirs.items()) and len(ours) == 39
        loads[2 * 30] = 30
        other = built("BUILD_MAP", 40, *loads)
        assert _core.compare_codes(other, made.compile(), extra_locals=True)[0] == "unproven"


def test_a_number_is_no_keyword() -> None:
    def f(call: Any, x: Any) -> Any:
        return call(**{1: x})

    def g(call: Any, x: Any) -> Any:
        return call(**{"1": x})

    assert decompile_ex(f).verdict.at_least("equivalent")
    assert _core.compare_codes(f.__code__, g.__code__, ignore_name=True)[0] == "unproven"


def test_a_repeated_key_of_a_large_display_is_seen() -> None:
    loads = [n for i in range(400) for n in (f"k{i}", 1000 + i)]
    made = decompile_ex(built("BUILD_MAP", 400, *loads))
    assert made.verdict.at_least("equivalent"), made.verdict.reason
    loads[2 * 300] = "k20"
    code = built("BUILD_MAP", 400, *loads)
    assert _core.compare_codes(code, made.compile(), extra_locals=True)[0] == "unproven"
    again = decompile_ex(code)
    ours, theirs = (types.FunctionType(c, {})(0) for c in (again.compile(), code))
    assert list(ours.items()) == list(theirs.items())


def test_the_proof_of_a_large_display_takes_time_by_its_size() -> None:
    """A dictionary that is filled between joins would be in the state of each."""
    text = "def f(a, b, c):\n return {%s}\n"

    def seconds(count: int) -> float:
        source = text % ", ".join(f"'k{i}': a if b else c" for i in range(count))
        scope: Any = {}
        exec(source, scope)
        made = decompile_ex(scope["f"].__code__)
        other = made.compile().replace(co_consts=(*made.compile().co_consts, 1))
        least = float("inf")
        for _ in range(3):
            begun = time.process_time()
            _core.compare_codes(scope["f"].__code__, other, extra_locals=True)
            least = min(least, time.process_time() - begun)
        return least

    assert seconds(4000) < 12 * seconds(1000) + 0.05
