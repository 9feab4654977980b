"""What is not proven is tried in other forms: bounded, and never for the worse."""

import importlib.util
import marshal
from typing import Dict, List, Set, Tuple

import pytest
from pellucid._core import compare_pyc, decompile_pyc, relower_pyc
from pellucid.forms import proven_form
from pellucid.result import Decompilation
from pellucid.verdicts import CodeVerdict, Verdict

PROGRAM = """
def f(a, b):
    while a:
        if b(a):
            return 1
        a = b(b)
    return [x for x in b if x]
"""


def pyc_of(source: str) -> bytes:
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(source, "<m>", "exec"))


class Written(Decompilation):
    """Stands in for a decompilation whose codes are proven in some forms only."""

    def __init__(
        self, forms: "Dict[str, int]", proven: "Dict[str, Set[int]]", reasons: "Dict[str, str]"
    ) -> None:
        object.__setattr__(self, "_forms", forms)
        codes = []
        for path, fitting in proven.items():
            status = "equivalent" if forms.get(path, 0) in fitting else "unproven"
            codes.append(CodeVerdict(status, path, reasons.get(path, ""), 0, 0))
        worst = min((code.status for code in codes), key=["unproven", "equivalent"].index)
        self.__dict__["verdict"] = Verdict(worst, "recompiled", "", tuple(codes))


def search(
    proven: "Dict[str, Set[int]]", reasons: "Dict[str, str]"
) -> "Tuple[Dict[str, int], int]":
    tries: List[Dict[str, int]] = []

    def written(forms: "Dict[str, int]") -> Written:
        tries.append(forms)
        return Written(forms, proven, reasons)

    found, _ = proven_form(written, "best")
    return found._forms, len(tries)


ORDER = {"m/f": "the order of variables: a / b"}


@pytest.mark.parametrize(
    "proven, reasons, forms, tries",
    [
        ({"m": {0}, "m/f": {0, 1, 2}}, {}, {}, 1),
        ({"m": {0}, "m/f": {2}}, {}, {"m/f": 2}, 2),
        ({"m": {0}, "m/f": {1}}, ORDER, {"m/f": 1}, 2),
        ({"m": {0}, "m/f": {2}}, ORDER, {"m/f": 2}, 3),
        ({"m": {0}, "m/f": set()}, {}, {}, 4),
        ({"m": {0}, "m/f": {2}, "m/g": set()}, {}, {"m/f": 2}, 4),
    ],
)
def test_the_first_form_that_is_proven_stays(
    proven: "Dict[str, Set[int]]", reasons: "Dict[str, str]", forms: "Dict[str, int]", tries: int
) -> None:
    assert search(proven, reasons) == (forms, tries)


@pytest.mark.parametrize("form", [0, 1, 2, 3])
def test_each_form_of_a_body_is_proven(form: int) -> None:
    data = pyc_of(PROGRAM)
    forms = {"<module>/f": form}
    source = decompile_pyc(data, forms=forms).source
    assert ("without structure" in source) == (form == 3)
    assert ("state_" in source) == (form == 3)
    if form == 3:
        return  # `for` and its iterator are calls of builtins then
    assert relower_pyc(data, forms=forms)[0] == "equivalent"


def test_a_loop_over_a_state_is_proven() -> None:
    loops = "while a():\n  if b():\n   return a\n  b(a)\n while b():\n  a(b)"
    data = pyc_of(f"def f(a, b):\n {loops}\n return b\n")
    forms = {"<module>/f": 3}
    source = decompile_pyc(data, forms=forms).source
    assert "state_" in source
    assert relower_pyc(data, forms=forms)[0] == "equivalent"
    again = marshal.dumps(compile(source, "<m>", "exec"))
    assert compare_pyc(data, again)[0] == "equivalent"


@pytest.mark.parametrize(
    "again, status",
    [
        # The result of the call dies before what it was called with.
        ("def f(a, b):\n t = a.x\n b(t)\n t = None\n b()\n", "unproven"),
        ("def f(a, b):\n t = a.x\n b(t)\n b()\n", "unproven"),  # t keeps what would die
        ("def f(a, b):\n t = 1\n b(a.x)\n b()\n", "unproven"),  # nothing reads it
        ("def f(a, b):\n t = 1\n b(a.x)\n if t == 1:\n  b()\n", "equivalent"),
        ("def f(a, b):\n t = 1\n b(a.x)\n if t == 2:\n  b()\n", "unproven"),
        ("def f(a, b):\n t = a.x\n b(t)\n t = None\n b()\n locals()\n", "unproven"),
    ],
)
def test_a_new_local_keeps_nothing_longer(again: str, status: str) -> None:
    data = pyc_of("def f(a, b):\n b(a.x)\n b()\n")
    marshalled = marshal.dumps(compile(again, "<m>", "exec"))
    assert compare_pyc(data, marshalled)[0] == status


def test_what_a_loop_over_a_state_calls_is_a_function() -> None:
    loop = "    while a:\n        a = b(a)\n"
    nested = f"def f(a, b):\n{loop}    return [[y for y in x] for x in b]\n"
    source = decompile_pyc(pyc_of(nested), forms={"<module>/f": 3}).source
    namespace: Dict[str, object] = {}
    exec(source, namespace)
    assert namespace["f"](0, [[1, 2], [3]]) == [[1, 2], [3]]  # type: ignore[operator]
