"""Converting a live code object gives what reading its `.pyc` gives."""

import asyncio
import contextlib
import importlib.util
import inspect
import json
import marshal
import re
import types
import typing
from typing import Dict, List

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
