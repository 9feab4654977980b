"""Converting a live code object gives what reading its `.pyc` gives."""

import asyncio
import contextlib
import dis
import importlib.util
import inspect
import json
import marshal
import re
import sys
import types
import typing
from typing import Any, Dict, List

import pellucid
import pytest
from pellucid import _core, decompile_ex

MODULES = [asyncio.base_events, contextlib, inspect, json.decoder, re, typing]


def blocks(dump: str) -> List[str]:
    """The code objects of a dump, sorted, less what depends on the order of reading and of sets."""
    plain = re.sub(r"<code \d+ ", "<code ", dump.strip())
    plain = re.sub(r"frozenset\({(.*)}\)", lambda m: str(sorted(m.group(1).split(", "))), plain)
    return sorted(re.sub(r"^code \d+ ", "code ", block) for block in plain.split("\n\n")[1:])


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_a_live_code_object_equals_its_pyc(module: types.ModuleType) -> None:
    loader = module.__spec__.loader
    code = compile(loader.get_data(module.__file__), "m.py", "exec", dont_inherit=True)
    pyc = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
    live = _core.dump_code(code, "module")
    assert blocks(live) == blocks(_core.dump_pyc(pyc, "module"))
    assert _core.compare_codes(code, marshal.loads(marshal.dumps(code)))[0] == "identical"


class Keys:
    def __getitem__(self, key: Any) -> Any:
        return key


def with_consts(*consts: object) -> types.CodeType:
    def f() -> None:
        return None

    return f.__code__.replace(co_consts=(None, *consts))


def test_what_no_literal_can_write_is_bound_by_name() -> None:
    shared: List[int] = [1]
    thing = object()
    raw = _core.decompile_code(with_consts(shared, thing, (1, shared), len, shared, json))
    assert raw.globals == {
        "_const_list": shared,
        "_const_object": thing,
        "_const_tuple": (1, shared),
        "_const_len": len,
        "_const_json": json,
    }
    assert raw.globals["_const_list"] is shared


@pytest.mark.skipif(sys.version_info < (3, 14), reason="no constant of a compiler's is a slice")
def test_a_slice_is_a_display_where_a_compiler_makes_that_a_constant() -> None:
    def f(x: Any, y: Any) -> Any:
        return x[1:2], x["start":, ::3], y("slice")

    def with_slices(*slices: Any) -> types.CodeType:
        shown = [slice(1, 2), (slice("start", None), slice(None, None, 3)), "slice"]
        other = dict(zip(map(str, shown), slices))
        consts = [other.get(str(const), const) for const in f.__code__.co_consts]
        return f.__code__.replace(co_consts=tuple(consts))

    made = pellucid.decompile_ex(f.__code__)
    assert made.verdict.status == "identical", made.verdict.reason
    assert "return x[1:2], x['start':, ::3], y('slice')" in made.source
    assert made.globals == {}
    # No text makes constants of these.
    last, deep, alone = slice(-1, None), (slice(1), slice(None, (2, 3))), slice(1, 2)
    made = pellucid.decompile_ex(with_slices(last, deep, alone))
    assert made.verdict.status == "identical", made.verdict.reason
    assert "return x[_const_slice], x[_const_tuple], y(_const_slice_1)" in made.source
    assert made.globals["_const_slice"] is last and made.globals["_const_tuple"] is deep
    code = made.compile()
    assert types.FunctionType(code, {})(Keys(), str) == (last, deep, "slice(1, 2, None)")


def test_names_of_opaque_constants_avoid_those_in_use() -> None:
    def f(_const_list: object) -> object:
        return _const_list

    code = f.__code__.replace(co_consts=(None, [1]))
    assert list(_core.decompile_code(code).globals) == ["_const_list_1"]


def test_subclasses_of_literals_are_opaque() -> None:
    class Text(str):
        pass

    raw = _core.decompile_code(with_consts(Text("x")))
    assert [type(value) for value in raw.globals.values()] == [Text]


def test_something_else_than_a_code_object_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        _core.decompile_code(17)  # type: ignore[arg-type]


def test_a_code_object_whose_parts_disagree_costs_itself_alone() -> None:
    def f(a: int) -> int:
        b = a
        return b

    try:
        bad = f.__code__.replace(co_nlocals=1)
    except ValueError:
        pytest.skip("this Python makes no such code object")
    assert decompile_ex(bad).verdict.status == "unproven"
    with_bad = with_consts(bad)
    assert decompile_ex(with_bad).verdict.status == "identical"
    (reason,) = {d.message for d in decompile_ex(bad).diagnostics}
    assert reason == "code object: nlocals and varnames differ"


@pytest.mark.parametrize("change", [{"co_argcount": 2}, {"co_flags": 0x0F}], ids=repr)
def test_arguments_that_a_code_object_lacks_are_no_crash(change: Dict[str, int]) -> None:
    def f() -> None:
        return None

    try:
        bad = f.__code__.replace(**change)  # type: ignore[arg-type]
    except ValueError:
        return  # CPython says so itself
    assert decompile_ex(bad).verdict.status == "unproven"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="a NULL lies below what is called")
def test_a_call_of_nothing_is_no_crash() -> None:
    def calls() -> Any:
        return abs()  # type: ignore[call-arg]

    # LOAD_GLOBAL abs + NULL becomes two NULLs.
    code = bytearray(calls.__code__.co_code)
    at = next(i.offset for i in dis.get_instructions(calls) if i.opname == "LOAD_GLOBAL")
    code[at : at + 10] = bytes([dis.opmap["PUSH_NULL"], 0] * 2 + [dis.opmap["NOP"], 0] * 3)
    found = decompile_ex(calls.__code__.replace(co_code=bytes(code)))
    assert found.verdict.status == "unproven"
    assert found.diagnostics


def test_a_method_of_super_is_called_with_a_star() -> None:
    class Base:
        pass

    class Derived(Base):
        def both(self, *x: Any, **k: Any) -> Any:
            return super().both(*x, **k)  # type: ignore[misc]

        def plain(self, *x: Any) -> Any:
            call = super(*x)
            return call

    assert decompile_ex(Derived.both).verdict.status != "unproven"
    assert decompile_ex(Derived.plain).verdict.status != "unproven"


# Compilers up to 3.9 make several objects of equal tuples themselves.
no_equal_tuples = pytest.mark.skipif(sys.version_info < (3, 10), reason="its tuples may be several")


def with_twins(function: Any, *values: Any) -> types.CodeType:
    """Make each load of one of these constants load an object of its own."""
    code = function.__code__
    consts, raw = list(code.co_consts), bytearray(code.co_code)
    for at in range(0, len(raw), 2):
        if dis.opname[raw[at]] in ("LOAD_CONST", "KW_NAMES") and consts[raw[at + 1]] in values:
            consts.append(marshal.loads(marshal.dumps(consts[raw[at + 1]], 2)))
            raw[at + 1] = len(consts) - 1
    return code.replace(co_code=bytes(raw), co_consts=tuple(consts))


def texts(x: Any) -> Any:
    return x, "size 4", 0.5, (1000, "a"), "size 4", 0.5, (1000, "a"), 0.5


@no_equal_tuples
def test_equal_constants_that_are_several_objects_have_names() -> None:
    values = ("size 4", 0.5, (1000, "a"))
    code = with_twins(texts, *values)
    made = decompile_ex(code)
    assert made.verdict.at_least("equivalent"), made.verdict.reason
    ours, theirs = (types.FunctionType(each, {})(1) for each in (made.compile(), code))
    assert ours == theirs == texts(1)
    # What is one object is one, and what is several is several.
    alike = [[a is b for a in result for b in result] for result in (ours, theirs)]
    assert alike[0] == alike[1] and alike[0].count(True) == len(ours)
    names = ["_const_size_4", "_const_1000_a", "_const_0_5", "_const_0_5_1"]
    assert sorted(made.globals) == sorted(names)
    assert all(name in made.source for name in names)


def test_a_comparison_of_two_equal_constants_is_not_that_of_one() -> None:
    def f() -> Any:
        a = 0.5
        b = 0.5
        return a is b

    code = with_twins(f, 0.5)
    assert types.FunctionType(code, {})() is False
    made = decompile_ex(code)
    if made.verdict.at_least("equivalent"):
        assert types.FunctionType(made.compile(), {})() is False
    pyc = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code, 2)
    assert pellucid.decompile_pyc(pyc).verdict.status == "unproven"


def test_nothing_sees_which_of_equal_tuples_has_the_names_of_arguments() -> None:
    def f(call: Any, x: Any) -> Any:
        return call(x, by=2), call(x, by=3), {"a": x, "b": x}, {"a": x, "b": x}

    code = with_twins(f, ("by",), ("a", "b"))
    assert code != f.__code__
    made = decompile_ex(code)
    assert made.verdict.at_least("equivalent"), made.verdict.reason
    assert made.globals == {}


@no_equal_tuples
def test_a_tuple_of_names_that_is_returned_too_is_one_of_two() -> None:
    def f(call: Any, x: Any) -> Any:
        return call(x, by=2), ("by",), ("by",)

    code = with_twins(f, ("by",))
    result = types.FunctionType(code, {})(dict, {})
    made = decompile_ex(code)
    assert made.verdict.at_least("equivalent"), made.verdict.reason
    assert result[1] is not result[2]
    shown = types.FunctionType(made.compile(), {})(dict, {})
    assert shown == result and shown[1] is not shown[2]
