"""What is known of program-generated code: what it makes readable, and what it must not excuse."""

import dis
import os
import sys
import time
import types
import warnings

import pytest
from breach_cases import ADDED, protected_from
from pellucid import _core, decompile_ex

FACTS = {
    "temporaries": ["tmp_1", "tmp_2", "tmp_3"],
    "steady": ["graph", "resume", "marks", "marks.enter", "marks.exit"],
    "apart": ["marks.enter", "marks.exit"],
    "reads": [],
    "graphs": ["graph"],
    "objects": ["marks.enter"],
    "owned": ["parts", "parts[]", "slots"],
}


def code_of(body, name="f"):
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    scope = {}
    exec(f"def {name}(a, b):\n{lines}\n", scope)
    return scope[name].__code__


def verdict(before, after, facts=FACTS):
    a, b = code_of(before), code_of(after)
    status, codes = _core.compare_codes(a, b, extra_locals=True, facts=facts)
    return status, codes[0][2]


CELLS = "((lambda: a).__closure__[0], (lambda: b).__closure__[0])"
SAME = {
    "a temporary is the value that it holds": (
        "tmp_1 = g(a)\nreturn resume(tmp_1)",
        "return resume(g(a))",
    ),
    "a temporary may be released earlier": (
        "tmp_1 = g(a)\nresume(tmp_1)\nk()\nreturn b",
        "resume(g(a))\nk()\nreturn b",
    ),
    "a name of ours is deleted in time": (
        "tmp_1 = g(a)\nh(tmp_1)\ndel tmp_1\nreturn k()",
        "value = g(a)\nh(value)\ndel value\nreturn k()",
    ),
    "what is left at the end goes with the frame": (
        "tmp_1 = g(a)\nh(tmp_1)\ndel tmp_1\nreturn b",
        "value = g(a)\nh(value)\nreturn b",
    ),
    "what an argument keeps is not released by us": (
        "tmp_1 = a.parts\ntmp_2 = tmp_1['x'].parts\ng(tmp_2['y'])\ndel tmp_1, tmp_2\nreturn k()",
        "one = a.parts\ntwo = one['x'].parts\ng(two['y'])\nreturn k()",
    ),
    "a tuple of the frame's cells keeps nothing": (
        f"tmp_1 = {CELLS}\nh(tmp_1)\ndel tmp_1\nreturn k()",
        f"value = {CELLS}\nh(value)\nreturn k()",
    ),
    "a steady name is loaded anywhere": (
        "tmp_1 = resume\nh(a)\nreturn tmp_1(b)",
        "h(a)\nreturn resume(b)",
    ),
    "calls that stand apart may pass loads": (
        "tmp_1 = marks.enter()\ntmp_2 = c\nmarks.exit(tmp_1)\nreturn graph(tmp_2, d.e)",
        "marks.exit(marks.enter())\nreturn graph(c, d.e)",
    ),
    "a call that gives an object is never None": (
        "tmp_1 = None\nif a:\n    tmp_1 = marks.enter()\ntmp_2 = c\n"
        "if tmp_1 is not None:\n    marks.exit(tmp_1)\nreturn graph(tmp_2)",
        "if a:\n    marks.exit(marks.enter())\nreturn graph(c)",
    ),
    "an empty list may be made earlier": (
        "tmp_1 = g(a)\ntmp_2 = []\nreturn resume(tmp_2, tmp_1)",
        "return resume([], g(a))",
    ),
    "the outputs of a graph are taken at once": (
        "tmp_1 = graph(a)\nif tmp_1[0]:\n    return resume(tmp_1[1])\nreturn b",
        "one, two = graph(a)[:2]\nif one:\n    del one\n    return resume(two)\nreturn b",
    ),
    "an output may be taken before a name is loaded": (
        "tmp_1 = graph(a)\ntmp_2 = h\ntmp_3 = tmp_1[0]\ndel tmp_1\nreturn tmp_2(tmp_3)",
        "value = graph(a)[0]\nreturn h(value)",
    ),
    "a dictionary may be copied after a loop": (
        "tmp_1 = {'k': a}\nfor tmp_2 in b:\n    h(tmp_2)\nreturn g(*(), **tmp_1)",
        "value = {'k': a}\nfor one in b:\n    h(one)\nreturn g(*(), k=value['k'])",
    ),
    "a dictionary that a loop gives away is one on both sides": (
        "tmp_1 = {'k': a}\nfor tmp_2 in b:\n    h(tmp_1)\nreturn tmp_1",
        "value = {'k': a}\nfor one in b:\n    h(value)\nreturn value",
    ),
}
# Without facts, how long values live is not looked at.
ONLY_LIFETIMES = (
    "what is left at the end goes with the frame",
    "what an argument keeps is not released by us",
    "an empty list may be made earlier",
    "a tuple of the frame's cells keeps nothing",
)
OTHER = {
    "a dictionary that a loop gives away may change": (
        "tmp_1 = {'k': a}\nfor tmp_2 in b:\n    h(tmp_1)\nreturn g(*(), **tmp_1)",
        "value = {'k': a}\nfor one in b:\n    h(value)\nreturn g(*(), k=a)",
        "",
    ),
    "a dictionary that a loop changes holds something else": (
        "tmp_1 = {'k': a}\nfor tmp_2 in b:\n    tmp_1['k'] = tmp_2\nreturn g(*(), **tmp_1)",
        "value = {'k': a}\nfor one in b:\n    value['k'] = one\nreturn g(*(), k=a)",
        "",
    ),
    "a dictionary that is used twice is no copy": (
        "tmp_1 = {'k': a}\nfor tmp_2 in b:\n    h(tmp_2)\ng(tmp_1)\nreturn k(tmp_1)",
        "value = {'k': a}\nfor one in b:\n    h(one)\ng({**value})\nreturn k(value)",
        "",
    ),
    "a temporary of ours must not keep a value longer": (
        "tmp_1 = g(a)\nh(tmp_1)\ndel tmp_1\nreturn k()",
        "value = g(a)\nh(value)\nreturn k()",
        "still held",
    ),
    "nor what holds an output": (
        "tmp_1 = graph(a)\ntmp_2 = tmp_1[1]\ntmp_3 = tmp_1[0]\ndel tmp_1\nh(tmp_3)\nreturn tmp_2",
        "outputs = graph(a)\nh(outputs[0])\nreturn outputs[1]",
        "still held",
    ),
    "nor one arm of a branch": (
        "tmp_1 = g(a)\nif tmp_1:\n    del tmp_1\n    return h(b)\nreturn b",
        "value = g(a)\nif value:\n    return h(b)\nreturn b",
        "still held",
    ),
    "nor a value of which an argument is not said to keep it": (
        "tmp_1 = a.other\ng(tmp_1)\ndel tmp_1\nreturn k()",
        "value = a.other\ng(value)\nreturn k()",
        "still held",
    ),
    "nor an item of what an argument keeps without its items": (
        "tmp_1 = a.slots['x']\ng(tmp_1)\ndel tmp_1\nreturn k()",
        "value = a.slots['x']\ng(value)\nreturn k()",
        "still held",
    ),
    "nor what a value keeps that is gone": (
        "tmp_1 = g(a)\ntmp_2 = tmp_1.parts\ndel tmp_1\nh(tmp_2)\ndel tmp_2\nreturn k()",
        "value = g(a).parts\nh(value)\nreturn k()",
        "still held",
    ),
    "nor a list of cells, which may be given more": (
        f"tmp_1 = [*{CELLS}]\nh(tmp_1)\ndel tmp_1\nreturn k()",
        f"value = [*{CELLS}]\nh(value)\nreturn k()",
        "still held",
    ),
    "nor a tuple of a cell and something else": (
        f"tmp_1 = {CELLS[:-1]}, g(a))\nh(tmp_1)\ndel tmp_1\nreturn k()",
        f"value = {CELLS[:-1]}, g(a))\nh(value)\nreturn k()",
        "still held",
    ),
    "a list keeps what is in it": (
        "tmp_1 = [g(a)]\ntmp_1.pop()\nreturn k()",
        "tmp_1 = [g(a)]\nreturn k()",
        "still held",
    ),
    "a name that is not steady stays where it is": (
        "tmp_1 = other\nh(a)\nreturn tmp_1(b)",
        "h(a)\nreturn other(b)",
        "other",
    ),
    "calls that stand apart keep their order": (
        "marks.enter()\nmarks.exit(a)\nreturn graph(b)",
        "marks.exit(a)\nmarks.enter()\nreturn graph(b)",
        "apart",
    ),
    "calls that stand apart pass no call": (
        "tmp_1 = marks.enter()\nmarks.exit(tmp_1)\nreturn h(b)",
        "tmp_1 = marks.enter()\ntmp_2 = h(b)\nmarks.exit(tmp_1)\nreturn tmp_2",
        "apart",
    ),
    "nor do they after a branch": (
        "tmp_1 = None\nif a:\n    tmp_1 = marks.enter()\ntmp_2 = h(b)\n"
        "if tmp_1 is not None:\n    marks.exit(tmp_1)\nreturn graph(tmp_2)",
        "if a:\n    marks.exit(marks.enter())\nreturn graph(h(b))",
        "apart",
    ),
    "a branch does not leave one out": (
        "tmp_1 = None\nif a:\n    tmp_1 = marks.enter()\ntmp_2 = c\n"
        "if tmp_1 is not None:\n    marks.exit(tmp_1)\nreturn graph(tmp_2)",
        "if a:\n    marks.enter()\nreturn graph(c)",
        "apart",
    ),
    "what any call gives may be None": (
        "tmp_1 = None\nif a:\n    tmp_1 = g()\nif tmp_1 is not None:\n    k(tmp_1)\nreturn b",
        "if a:\n    k(g())\nreturn b",
        "",
    ),
    "what once was an object may be None the next time": (
        "tmp_1 = marks.enter()\nwhile a:\n    if tmp_1 is not None:\n        h(tmp_1)\n"
        "    tmp_1 = g()\nreturn b",
        "tmp_1 = marks.enter()\nwhile a:\n    h(tmp_1)\n    tmp_1 = g()\nreturn b",
        "",
    ),
    "none of them is left out": (
        "marks.exit(marks.enter())\nreturn h(b)",
        "marks.enter()\nreturn h(b)",
        "apart",
    ),
    "a graph may have more outputs than are asked for": (
        "tmp_1 = graph(a)\nreturn h(tmp_1[0], tmp_1[1])",
        "first, second = graph(a)\nreturn h(first, second)",
        "UnpackSequence",
    ),
    "and no others are": (
        "tmp_1 = graph(a)\nreturn h(tmp_1[0], tmp_1[1])",
        "first, second, third = graph(a)[:3]\nreturn h(first, second)",
        "",
    ),
    "one output is not the other": (
        "tmp_1 = graph(a)\nreturn h(tmp_1[0], tmp_1[1])",
        "second, first = graph(a)[:2]\nreturn h(first, second)",
        "",
    ),
    "an output that others know may change": (
        "tmp_1 = graph(a)\nh(tmp_1)\nreturn tmp_1[0]",
        "tmp_1 = graph(a)\nvalue = tmp_1[0]\nh(tmp_1)\nreturn value",
        "",
    ),
    "what is no graph may do anything when it is asked": (
        "tmp_1 = g(a)\nreturn h(tmp_1[0], tmp_1[1])",
        "first, second = g(a)[:2]\nreturn h(first, second)",
        "",
    ),
    "a name of the user's is none of the generator's": (
        "x = g(a)\nh(b)\nreturn x",
        "tmp_1 = g(a)\nh(b)\nreturn tmp_1",
        "",
    ),
    "an argument is no temporary": (
        "b = g(a)\nh(a)\nreturn b",
        "tmp_1 = g(a)\nh(a)\nreturn tmp_1",
        "",
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_what_is_known_proves(what):
    assert verdict(*SAME[what]) == ("equivalent", "")


@pytest.mark.parametrize("what", SAME)
def test_without_it_nothing_is_assumed(what):
    if what in ONLY_LIFETIMES:
        return
    assert verdict(*SAME[what], facts=None)[0] == "unproven"


@pytest.mark.parametrize("what", OTHER)
def test_what_is_known_does_not_excuse(what):
    before, after, reason = OTHER[what]
    status, said = verdict(before, after)
    assert status == "unproven"
    assert reason in said


GENERATED = """
tmp_1 = marks.enter()
tmp_2 = c
marks.exit(tmp_1)
tmp_3 = graph(tmp_2, a)
if tmp_3[0]:
    return resume(b, tmp_3[1])
return h(tmp_3[1])
"""


def test_generated_code_reads_as_a_person_would_write_it():
    found = decompile_ex(code_of(GENERATED), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    marks.exit(marks.enter())",
        "    result_1 = graph(c, a)",
        "    if result_1[0]:",
        "        return resume(b, result_1[1])",
        "    return h(result_1[1])",
    ]


CONDITIONAL = """
tmp_3 = flags.on
tmp_1 = None
if tmp_3:
    tmp_1 = marks.enter()
tmp_2 = c
if tmp_1 is not None:
    marks.exit(tmp_1)
return resume([], graph(tmp_2, a))
"""
CALLED_BETWEEN = CONDITIONAL.replace("tmp_2 = c", "tmp_2 = h(b)").replace("resume([], ", "resume(")


def test_a_test_of_what_is_known_is_no_test():
    found = decompile_ex(code_of(CONDITIONAL), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    if flags.on:",
        "        marks.exit(marks.enter())",
        "    return resume([], graph(c, a))",
    ]


def test_a_call_in_between_stays_there():
    found = decompile_ex(code_of(CALLED_BETWEEN), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    tmp_1 = None",
        "    if flags.on:",
        "        tmp_1 = marks.enter()",
        "    result_1 = h(b)",
        "    if tmp_1 is not None:",
        "        marks.exit(tmp_1)",
        "    result_2 = graph(result_1, a)",
        "    del result_1",
        "    return resume(result_2)",
    ]


TWICE = """
tmp_1 = graph(a)
tmp_2 = tmp_1[0]
tmp_3 = tmp_1[0]
del tmp_1
h(tmp_2)
del tmp_2
return resume(tmp_3, b)
"""
KEPT = """
tmp_1 = a.parts
tmp_2 = tmp_1['x'].parts
h(tmp_2['w'])
h(tmp_2['b'])
h(tmp_1['y'].z)
del tmp_1, tmp_2
return k()
"""


def test_lists_that_nobody_sees_are_their_elements():
    body = """
tmp_1 = [g(a), b]
tmp_1[0:0] = [a]
tmp_2 = tmp_1[-2:]
return resume(tmp_1[:1], tmp_2[0], tmp_2[1])
"""
    found = decompile_ex(code_of(body), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.split("\n")[1] == "    return resume([a], g(a), b)"


def test_outputs_that_are_all_taken_are_unpacked():
    found = decompile_ex(
        code_of("tmp_1 = graph(a)\nreturn resume(tmp_1[0], tmp_1[1])"), facts=FACTS
    )
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.split("\n")[1].endswith(" = graph(a)[:2]")


def test_an_output_that_is_taken_twice_is_one_value():
    found = decompile_ex(code_of(TWICE), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.count("= graph(a)[0]\n") == 1
    assert found.source.count("[0]") == 1


def test_pending_values_stay_pending_when_an_earlier_one_is_kept():
    found = decompile_ex(code_of("tmp_1 = h(a)\ng(tmp_1[0])\nreturn k(tmp_1[1])"), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert "    g(result_1[0])\n" in found.source


def test_what_an_argument_keeps_is_not_deleted():
    found = decompile_ex(code_of(KEPT), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.count("a.parts\n") == 1
    assert "del temp_1" not in found.source
    assert "del temp_2" not in found.source


CHOICE = """
tmp_1 = graph(a)
tmp_2 = tmp_1[0]
x = tmp_1[1]
del tmp_1
if tmp_2:
    del tmp_2
    return resume(b, x)
del tmp_2
return resume(x)
"""
EARLY = """
tmp_1 = c
h(a)
tmp_2 = tmp_1()
del tmp_1
return k(tmp_2, b)
"""


@pytest.mark.parametrize("body", [CHOICE, EARLY], ids=["a test", "a callee"])
def test_nothing_is_held_longer_than_by_the_code(body):
    found = decompile_ex(code_of(body), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert "del temp_" in found.source


def test_an_argument_that_holds_too_much_is_computed_before():
    made = "tmp_1 = graph(a)\ntmp_2 = h()\ntmp_3 = tmp_1[0]\ndel tmp_1\n"
    found = decompile_ex(code_of(f"{made}return resume(tmp_2, tmp_3.k(), b)"), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    temp_1 = graph(a)[0]",
        "    result_1 = h()",
        "    result_2 = temp_1.k()",
        "    del temp_1",
        "    return resume(result_1, result_2, b)",
    ]


@pytest.mark.parametrize("callee", ["p.info", "p"])
def test_what_is_computed_of_it_inside_a_call_is_computed_before(callee):
    # The output is let go of before `callee` is called, which lies on the stack by then.
    made = f"tmp_1 = graph(a)\ntmp_2 = {callee}(1, g(tmp_1[0], 'x'), tmp_1 := tmp_1[1])\n"
    found = decompile_ex(code_of(f"{made}return resume(tmp_2, tmp_1)"), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    temp_1, temp_2 = graph(a)[:2]",
        f"    result_1 = {callee}",
        "    result_2 = g(temp_1, 'x')",
        "    del temp_1",
        "    result_3 = result_1(1, result_2, temp_2)",
        "    del result_1, result_2",
        "    return resume(result_3, temp_2)",
    ]


def test_a_cell_is_stored_to_after_who_is_called_before():
    made = "tmp_1 = graph(a)[0]\ntmp_2 = g(lambda: b)\nb = tmp_1\nreturn tmp_1, tmp_2"
    found = decompile_ex(code_of(made), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.index("g(lambda: b)") < found.source.index("b = ")


def test_an_item_by_a_value_is_taken_before():
    found = decompile_ex(
        code_of("tmp_1, tmp_2 = graph(a)\nreturn resume(tmp_2[tmp_1], b)"), facts=FACTS
    )
    assert found.verdict.status == "equivalent", found.verdict.reason


def test_steady_names_may_have_several_attributes():
    known = {**FACTS, "steady": ["base", "base.object", "base.object.set"]}
    body = "tmp_1 = base.object.set\ntmp_2 = base.object.set\nh(a)\ntmp_1(a)\ntmp_2(b)\nreturn k()"
    found = decompile_ex(code_of(body), facts=known)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert "    base.object.set(a)\n    base.object.set(b)\n" in found.source


def test_facts_of_an_unknown_kind_are_refused():
    with pytest.raises(ValueError, match="no facts of this kind: tmp"):
        _core.decompile_code(code_of("return a"), facts={"tmp": []})


def with_get_iter(body):
    """The code of `body` with its call of `iter` as the instruction, which no expression makes."""
    code = code_of(body)
    instrs = list(dis.get_instructions(code))
    name = next(i for i in instrs if i.argval == "iter")
    call = next(i for i in instrs if i.offset > name.offset and i.opname == "CALL_FUNCTION")
    made = bytearray(code.co_code)
    made[name.offset : name.offset + 2] = bytes([dis.opmap["NOP"], 0])
    made[call.offset : call.offset + 2] = bytes([dis.opmap["GET_ITER"], 0])
    return code.replace(co_code=bytes(made))


BEFORE_3_11 = pytest.mark.skipif(
    sys.version_info >= (3, 11), reason="a call of one argument is more than one instruction"
)


@BEFORE_3_11
@pytest.mark.parametrize("other", ["b", "iter"])
def test_an_iterator_that_no_loop_takes_comes_of_the_built_in_function(other):
    found = decompile_ex(with_get_iter(f"return resume(iter(a), {other})"), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    # Whatever the program calls `iter`.
    scope = {"resume": lambda *args: args, "iter": None}
    iterator, second = types.FunctionType(found.compile(), scope)([7], 2)
    assert next(iterator) == 7
    assert second == (2 if other == "b" else None)


@BEFORE_3_11
def test_a_global_called_iter_is_not_taken_for_the_built_in_function():
    status, codes = _core.compare_codes(
        with_get_iter("return resume(iter(a), b)"), code_of("return resume(iter(a), b)")
    )
    assert status == "unproven"
    assert "GetIter" in codes[0][2]


def with_set_of(items):
    """A set that is built of constants one by one, where the compiler makes one constant."""
    names = ", ".join(["a"] * len(items))
    code = code_of(f"return resume({{{names}}})")
    made = bytearray(code.co_code)
    loads = [i.offset for i in dis.get_instructions(code) if i.opname == "LOAD_FAST"]
    for at, number in zip(loads, range(len(code.co_consts), 255)):
        made[at : at + 2] = bytes([dis.opmap["LOAD_CONST"], number])
    return code.replace(co_code=bytes(made), co_consts=code.co_consts + items)


ONE_LOAD_EACH = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="one instruction loads two locals"
)


@ONE_LOAD_EACH
def test_a_set_of_constants_is_the_one_that_the_compiler_folds():
    code = with_set_of((3, "a", None, (1, 2)))
    found = decompile_ex(code, facts=FACTS)
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    assert "return resume({3, 'a', None, (1, 2)})" in found.source


@ONE_LOAD_EACH
@pytest.mark.parametrize(
    "text", ["{3, 'a', None, (1, 3)}", "{3, 'a', None}", "{3, 'a', None, (1, 2), 4}", "{a}"]
)
def test_another_set_is_not(text):
    status, _ = _core.compare_codes(
        with_set_of((3, "a", None, (1, 2))), code_of(f"return resume({text})")
    )
    assert status == "unproven"


def with_constant(body, value):
    """The code of `body`, with `value` where that has the text "@"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a text is called
        code = code_of(body)
    return code.replace(co_consts=tuple(value if c == "@" else c for c in code.co_consts))


POPS_NULL = 'tmp_1 = g(a)\n"@"()\nreturn resume(tmp_1, b)'


def test_a_call_of_what_does_nothing_is_not_shown():
    found = decompile_ex(with_constant(POPS_NULL, lambda: None), facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert "return resume(g(a), b)" in found.source
    assert "_const" not in found.source


def test_what_such_a_call_gives_is_none():
    code = with_constant('return resume("@"(), b)', lambda: None)
    status, codes = _core.compare_codes(code, code_of("return resume(None, b)"), facts=FACTS)
    assert status == "equivalent", codes[0][2]


@pytest.mark.parametrize(
    "function",
    [lambda: 1, lambda: dis, lambda *_: None, lambda _=1: None, lambda: (yield), lambda: print(1)],
)
def test_a_call_of_another_function_is(function):
    code = with_constant(POPS_NULL, function)
    found = decompile_ex(code, facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert "_const_lambda()" in found.source
    status, _ = _core.compare_codes(code, code_of("return resume(g(a), b)"), facts=FACTS)
    assert status == "unproven"


def test_without_facts_every_call_is_shown():
    code = with_constant(POPS_NULL, lambda: None)
    assert "_const_lambda()" in decompile_ex(code).source
    status, _ = _core.compare_codes(code, code_of("tmp_1 = g(a)\nreturn resume(tmp_1, b)"))
    assert status == "unproven"


# As Dynamo rotates many values where Python cannot (up to 3.9): the continuation is on top of them.
ROTATES = (
    'tmp_1, tmp_2, tmp_3, tmp_4 = "@"(*(a, h(b), 7, resume))\nreturn tmp_4(tmp_3, tmp_2, tmp_1)'
)


def test_a_call_that_rotates_values_is_not_shown():
    code = with_constant(ROTATES, lambda x, y, z, w: (z, y, x, w))
    known = {**FACTS, "temporaries": [*FACTS["temporaries"], "tmp_4"]}
    found = decompile_ex(code, facts=known)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    return resume(a, h(b), 7)",
    ]
    for arguments in ("h(b), a, 7", "a, 7, h(b)", "a, h(b)"):
        other = code_of(f"return resume({arguments})")
        assert _core.compare_codes(code, other, facts=known)[0] == "unproven"


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y, z, w: (z, x, y, w),
        lambda x, y, z, w: (z, y, x, print),
        lambda x, y, z, w, v=1: (z, y, x, w),
        lambda x, y, z, *w: (z, y, x, w),
        lambda x, y, z, w: [z, y, x, w],
        lambda x, y, z, w: (yield (z, y, x, w)),
    ],
)
def test_a_call_that_does_not_is(function):
    code = with_constant(ROTATES, function)
    found = decompile_ex(code, facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert "_const_lambda(" in found.source
    status, _ = _core.compare_codes(code, code_of("return resume(a, h(b), 7)"), facts=FACTS)
    assert status == "unproven"


INSIDE = """
def part(a, b):
    return [a for _ in range(b)]
tmp_1 = g(a)
return resume(a, tmp_1, part)
"""


def test_a_function_is_made_after_what_the_expression_evaluates_before():
    code = code_of(INSIDE)
    # As Dynamo has it, the function is an operand: what makes it follows the call.
    units = [bytes(code.co_code[i : i + 2]) for i in range(0, len(code.co_code), 2)]
    ops = [dis.opname[unit[0]] for unit in units]
    if "RESUME" in ops or "PUSH_NULL" in ops:
        pytest.skip("3.11 and later make such functions by a call")
    made = ops.index("STORE_FAST")  # part
    begin = [i for i, op in enumerate(ops) if op == "LOAD_GLOBAL"][1]
    end = len(ops) - 3  # LOAD_FAST part, CALL_FUNCTION, RETURN_VALUE
    call = units[made + 1 : begin - 1]
    moved = [*units[begin : begin + 2], *call, *units[:made], *units[end + 1 :]]
    # Like Dynamo, which counts the slots of the stack: those of the call lie below the function's.
    code = code.replace(co_code=b"".join(moved), co_stacksize=code.co_stacksize + 2)
    found = decompile_ex(code, facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    lines = found.source.split("\n")
    assert lines[1].strip() == "result_1 = g(a)"
    assert lines[-2].strip() == "return resume(a, result_1, part)"


def test_a_cell_that_nothing_mentions_is_not_in_the_text():
    # As Dynamo leaves it when it has inlined the comprehension that captured the name.
    plain = code_of("tmp_1 = graph(a)\nreturn tmp_1[0]")
    cells = code_of("x = b\nreturn (lambda: x)").co_cellvars
    code = plain.replace(co_cellvars=cells)
    found = decompile_ex(code, facts=FACTS)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == ["def f(a, b):", "    return graph(a)[0]"]
    assert found.compile().co_cellvars == ("x",)


NESTED = {**FACTS, "nested": ["goes_on"]}


def inside(body, called="goes_on"):
    """The body of a function that is made within the frame, as old torch makes one to continue."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"tmp_1 = g(a)\ndef {called}(c):\n{lines}return {called}(tmp_1)"


# Nothing uses the result of what came before, and `b` was used there alone.
GOES_ON = "c\ntmp_2 = h(a)\nif False:\n    b\nreturn resume(tmp_2)"


@pytest.mark.parametrize("given", ["c", "c, d=2", "c, *, d=3"])
def test_a_function_that_is_made_with_parts_is_written_as_one(given):
    made = f"def part({given}):\n    return h(a, b)"
    code = code_of(f"tmp_1 = g(a)\n{made}\nreturn resume(tmp_1, part)")
    found = decompile_ex(code, facts=FACTS)
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    result_1 = g(a)",
        "",
        f"    def part({given}):",
        "        return h(a, b)",
        "",
        "    return resume(result_1, part)",
    ]


def test_what_is_known_holds_for_the_functions_inside_that_it_names():
    found = decompile_ex(code_of(inside(GOES_ON)), facts=NESTED)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    result_1 = g(a)",
        "",
        "    def goes_on(c):",
        "        return resume(h(a))",
        "",
        "    return goes_on(result_1)",
    ]
    (made,) = [const for const in found.compile().co_consts if hasattr(const, "co_freevars")]
    assert made.co_freevars == ("a", "b")


@pytest.mark.parametrize(("facts", "called"), [(FACTS, "goes_on"), (NESTED, "another")])
def test_other_functions_inside_are_taken_as_they_are(facts, called):
    found = decompile_ex(code_of(inside(GOES_ON, called)), facts=facts)
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    for line in ("c", "if False:", "b", "tmp_2 = h(a)"):
        assert f"        {line}\n" in found.source


def test_what_is_known_does_not_excuse_functions_inside():
    before = inside("tmp_2 = h(c)\nresume(tmp_2)\ndel tmp_2\nreturn g()")
    longer = inside("tmp_2 = h(c)\nresume(tmp_2)\nreturn g()")
    sooner = inside("resume(h(c))\nreturn g()")
    otherwise = inside("g()\nreturn resume(h(c))")
    assert verdict(before, sooner, NESTED)[0] == "equivalent"
    assert verdict(before, sooner, FACTS)[0] == "unproven"
    assert verdict(before, longer, NESTED)[0] == "unproven"
    assert verdict(before, otherwise, NESTED)[0] == "unproven"


def large_frame(count):
    """A frame like those of models with many parts: all are fetched, some are used twice."""
    lines = []
    for number in range(count):
        lines += [f"tmp_{number} = a.m{number}", f"w_{number} = tmp_{number}.w"]
        lines += [f"b_{number} = tmp_{number}.b"]
    values = ", ".join(f"w_{number}, b_{number}" for number in range(count))
    code = code_of("\n".join([*lines, f"return graph({values})"]))
    names = [name for name in code.co_varnames if name not in ("a", "b")]
    return code, {**FACTS, "temporaries": names}


def least_time(work):
    """The least processor time of a few runs: other work on the machine makes some slower."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def times_of(count):
    """Seconds to decompile a large frame, and to prove the result."""
    code, facts = large_frame(count)
    found = decompile_ex(code, facts=facts)
    made = found.compile()
    verdicts = []

    def compare():
        verdicts.append(_core.compare_codes(code, made, extra_locals=True, facts=facts)[0])

    spent = (
        least_time(lambda: _core.decompile_code(code, unstructured=False, forms={}, facts=facts)),
        least_time(compare),
    )
    assert "unproven" not in verdicts
    return spent


@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="the core is one")
def test_time_for_frames_of_thousands_of_locals_grows_with_their_size():
    # What grows with the square takes hundreds of times as long, and nothing makes linear work
    # take three times its time.
    small, large = times_of(300), times_of(7200)
    ratios = [more / less for less, more in zip(small, large)]
    assert max(ratios) <= 72, f"24 times the size: {ratios} times the time"


def without(code, argument):
    """The code without storing a local and loading it again: the value stays on the stack."""
    made = bytearray(code.co_code)
    for found in dis.get_instructions(code):
        if found.opname.startswith(("STORE_FAST", "LOAD_FAST")) and argument in str(found.argval):
            made[found.offset : found.offset + 2] = bytes([dis.opmap["NOP"], 0])
    return code.replace(co_code=bytes(made), co_stacksize=code.co_stacksize + 1)


def test_of_an_unpacking_the_first_elements_are_stored_where_they_are():
    code = code_of("one, two, three = g(a)\nreturn three")
    found = decompile_ex(without(code, "three"))
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == [
        "def f(a, b):",
        "    one, two, temp_1 = g(a)",
        "    return temp_1",
    ]


def test_an_empty_set_of_one_instruction_is_its_display():
    # As Dynamo makes one, where a compiler takes two instructions or three.
    code = code_of("return {a}")
    made = bytearray(code.co_code)
    (build,) = (found.offset for found in dis.get_instructions(code) if found.opname == "BUILD_SET")
    made[build - 2 : build + 2] = bytes([dis.opmap["NOP"], 0, dis.opmap["BUILD_SET"], 0])
    found = decompile_ex(code.replace(co_code=bytes(made)))
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert found.source.strip().split("\n") == ["def f(a, b):", "    return {*()}"]


def test_a_function_whose_name_is_none_is_made_where_it_was():
    # Dynamo names the continuation of a lambda function after the lambda.
    body = "tmp = g(a)\ndef inner(c):\n    return b + c\nreturn [tmp, inner]"
    code = without(without(code_of(body), "tmp"), "inner")
    consts = [
        const.replace(co_name="go_on_in_<lambda>_at_7") if hasattr(const, "co_name") else const
        for const in code.co_consts
    ]
    facts = {**FACTS, "nested": ["go_on_in_lambda_at_7"]}
    found = decompile_ex(code.replace(co_consts=tuple(consts)), facts=facts)
    assert found.verdict.status == "equivalent", found.verdict.reason
    assert "def go_on_in_lambda_at_7(c):" in found.source
    inside = [const.co_name for const in found.compile().co_consts if hasattr(const, "co_name")]
    assert inside == ["go_on_in_<lambda>_at_7"]


# Dynamo calls what was on the stack before it entered the block of a `with`.
UNTOUCHED = "def f(a, b):\n    try: g(a)\n    finally: h()\n"
LOADED = "callee = g\ntry:\n    callee(a)\n    del callee\nfinally:\n    h()"


def compiled(source):
    scope = {}
    exec(source, scope)
    return scope["f"].__code__


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="a call is protected with its loads there")
def test_a_handler_of_ours_may_keep_what_a_call_takes_if_it_never_looks_at_it():
    call = "PRECALL" if sys.version_info[:2] == (3, 11) else "CALL"
    made = protected_from(call, 2)(compiled(UNTOUCHED))
    made = made.replace(co_stacksize=made.co_stacksize + 4)
    for facts, status in ((FACTS, "equivalent"), ({}, "unproven")):
        found, codes = _core.compare_codes(made, code_of(LOADED), extra_locals=True, facts=facts)
        assert found == status, codes
    assert "takes a slot that its handler keeps" in codes[0][2]


def test_what_returns_above_such_a_slot_is_not_proven():
    made = protected_from("BINARY_", 2)(compiled(ADDED))
    made = made.replace(co_stacksize=made.co_stacksize + 4)
    again = code_of("one = a\ntwo = b\ntry: one + two\nexcept: return 1")
    assert _core.compare_codes(made, again, extra_locals=True, facts=FACTS)[0] == "unproven"
