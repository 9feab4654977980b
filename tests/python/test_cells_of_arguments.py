"""Arguments of generated code that are stored back into their cells: idle, or what must stay."""

import pytest
from pellucid import _core, decompile_ex

FACTS = {
    "temporaries": ["tmp_1", "tmp_2"],
    "steady": ["graph", "make"],
    "graphs": ["graph"],
    "makers": ["make"],
}
INNER = "def inner():\n    return a, b\n"
CELLS = "((lambda: a).__closure__[0], (lambda: b).__closure__[0])"
BACK = "a = a\n"
# What surrounds the line that stores `a` where it is.
IDLE = {
    "at once": ("", f"{INNER}return h(inner)"),
    "after calls": ("g(b)\nk()\n", f"{INNER}return h(inner)"),
    "after a function that is not shown": (f"{INNER}g(b)\n", "return h(inner)"),
    "after a branch": (f"if b:\n    g()\n{INNER}k()\n", "return h(inner)"),
    "in a loop": (f"for x in b:\n    g(x)\n    {BACK}", f"{INNER}return h(inner)"),
    "after what makes a function": (f"tmp_1 = make(0, {CELLS}, None)\n", "k()\nreturn h(tmp_1)"),
    "with its cell in a list": (f"tmp_1 = [{CELLS}]\ng(b)\n", "return h(tmp_1[0])"),
    "twice": (BACK, f"{INNER}return h(inner)"),
    "after another": ("b = g()\n", f"{INNER}return h(inner)"),
}
# A cell that only source text names like this: Dynamo loads it, which compilers never do.
PROVEN_ALONE = ("after what makes a function", "with its cell in a list")
KEPT = {
    "what is known of it was shown": (f"{INNER}g(inner)\n", "return k()"),
    "it was called": (f"{INNER}inner()\n", "return k()"),
    "it was shown in a list": (f"{INNER}g([b, inner])\n", "return k()"),
    "it was shown in a dictionary": (f"{INNER}g({{'k': inner}})\n", "return k()"),
    "it was shown by what was made of it": (
        f"{INNER}tmp_1 = make(0, inner)\ng(tmp_1)\n",
        "return k()",
    ),
    "it was shown by its code's closure": (f"g({CELLS})\n", f"{INNER}return h(inner)"),
    "a tuple was shown of which a function was made": (
        f"tmp_1 = {CELLS}\ntmp_2 = make(0, tmp_1)\ng(tmp_1)\n",
        "return h(tmp_2)",
    ),
    "it was asked for an attribute": (f"{INNER}tmp_1 = inner.attribute\n", "return h(inner)"),
    "it was shown on one of two ways": (
        f"{INNER}if b:\n    g(inner)\n",
        "return k()",
    ),
    "it is one of two that were shown": (
        f"{INNER}other = inner if b else None\ng(other)\n",
        "return k()",
    ),
    "it was stored": (f"{INNER}k.attribute = inner\ng()\n", "return k()"),
    "it was given to a generator's caller": (f"{INNER}yield inner\n", "g(inner)"),
    "others change it in a loop": (f"{INNER}for x in b:\n    {BACK}    g(inner)\n", "return k()"),
}


def code_of(body):
    scope = {}
    exec("def f(a, b):\n" + "".join(f"    {line}\n" for line in body.splitlines()), scope)
    return scope["f"].__code__


def proof(before, after, facts=FACTS):
    status, codes = _core.compare_codes(
        code_of(before), code_of(after), extra_locals=True, facts=facts
    )
    return status, codes[0][2]


@pytest.mark.parametrize("where", IDLE)
def test_what_is_stored_where_it_is_is_not_shown(where):
    before, after = IDLE[where]
    assert proof(before + BACK + after, before + after) == ("equivalent", "")
    found = decompile_ex(code_of(before + BACK + after), facts=FACTS)
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    assert ("a = a" in found.source) == (where in PROVEN_ALONE)


@pytest.mark.parametrize("where", KEPT)
def test_what_others_may_have_changed_is_stored_again(where):
    before, after = KEPT[where]
    assert proof(before + BACK + after, before + after)[0] == "unproven"
    found = decompile_ex(code_of(before + BACK + after), facts=FACTS)
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    assert "a = a" in found.source


LOCALS = {
    "at once": ("", "return g(a)"),
    "after a call": ("tmp_1 = a\ng(b)\na = tmp_1\n", "return g(a)"),
    "of two that cross": ("tmp_1 = a\nb = b\na = tmp_1\n", "return g(a, b)"),
}


@pytest.mark.parametrize("where", LOCALS)
def test_a_local_that_is_stored_where_it_is_is_not_shown(where):
    before, after = LOCALS[where]
    short = "g(b)\n" if "g(b)" in before else ""
    assert proof(before + BACK + after, short + after) == ("equivalent", "")
    found = decompile_ex(code_of(before + BACK + after), facts=FACTS)
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    assert "a = " not in found.source
    assert "b = " not in found.source


@pytest.mark.parametrize(
    "body",
    [
        "tmp_1 = a\na = g(b)\na = tmp_1\nreturn g(a)",
        "del b\na = b\nreturn g(a)",
        "a = b\nreturn g(a)",
        "tmp_1 = a\nif b:\n    a = g(b)\na = tmp_1\nreturn k(a)",
    ],
)
def test_a_local_that_changed_is_stored(body):
    found = decompile_ex(code_of(body), facts=FACTS)
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    assert "a = " in found.source


def test_another_value_is_no_write_back():
    before = f"tmp_1 = a\na = g(b)\n{INNER}k(inner)\n"
    for stored in ("tmp_1", "b", "g(a)"):
        assert proof(f"a = {stored}\n{before}return a", f"{before}return a")[0] == "unproven"


def test_what_was_stored_before_is_not_what_the_call_brought():
    body = f"tmp_1 = a\na = g(b)\na = tmp_1\n{INNER}return h(inner)"
    assert proof(body, f"g(b)\n{INNER}return h(inner)")[0] == "unproven"
    found = decompile_ex(code_of(body), facts=FACTS)
    assert found.verdict.at_least("equivalent"), found.verdict.reason


def test_without_facts_everything_is_shown():
    before, after = IDLE["at once"]
    assert proof(before + BACK + after, before + after, None)[0] == "unproven"
    assert "a = a" in decompile_ex(code_of(before + BACK + after)).source


def test_a_value_does_not_outlive_its_cell():
    body = f"a = g(b)\nk()\n{INNER}return h(inner)"
    assert proof(body, body)[0] == "identical"
    status, reason = proof(body, f"value = a\n{body}")
    assert status == "unproven"
    assert "still held" in reason
