"""pellucid.port: code of every version runs in this one, proven, or is refused with a reason."""

import io
import marshal
import pickle
import re
import subprocess
import sys
import traceback
import types
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple

import pytest
from case_pycs import CASES, pycs_of
from needs import VERSIONS
from pellucid import CannotPort, DecompileError, _core, port, port_pickle
from pellucid.interpreters import compile_to_marshal, compiling, find_interpreter

RUNNING = sys.version_info[:2]
OTHERS = [(3, minor) for minor in range(8, 16) if (3, minor) != RUNNING]

SOURCE = '''\
"""A module."""


def outer(start, total):
    def add(step, *, times=3):
        nonlocal total
        total += step * times
        if step < 0:
            raise ValueError(
                total
            )
        return [start + number for number in range(step)], total

    class Counted:
        first = start

        def own(self):
            return __class__.first

    return add, lambda value: value * start, Counted
'''


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from code_objects(const)


# What a version cannot say, and what is in no source or not proven for one of the two versions.
REASONS = re.compile(
    r"needs? Python 3\.\d+|cannot compile its source|not proven|no source can contain"
    r"|has no separate code object"
)
# Most of what is refused needs a newer Python. The cases are what compilers do differently, so some
# are not proven for one of the two versions, and from some the running Python makes something else
# (operands that are tested twice, names that only dead code has). There are some 340 to 430.
MOST_UNPROVEN = 20
MOST_OTHERWISE = 15


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("version", VERSIONS)
def test_each_case_does_what_its_text_does_here(version: str) -> None:
    unproven, otherwise = [], []
    ported = 0
    for name, pyc in pycs_of(version).items():
        try:
            found = port(pyc)
        except CannotPort as error:
            assert REASONS.search(str(error)), (name, str(error))
            if "proven" in str(error):
                unproven.append((name, str(error)))
            continue
        ported += 1
        text = (CASES / f"{name}.py").read_text(encoding="utf-8")
        try:
            with compiling():
                here = compile(text, name, "exec", dont_inherit=True, optimize=0)
        except SyntaxError:
            continue
        if "__debug__" not in text and "optimized" not in name:
            status, _ = _core.compare_codes(here, found.code)
            if status == "unproven":
                otherwise.append(name)
    assert ported > 200
    assert len(unproven) <= MOST_UNPROVEN, unproven
    assert len(otherwise) <= MOST_OTHERWISE, otherwise


@pytest.mark.parametrize("version", OTHERS, ids=lambda v: "{}.{}".format(*v))
def test_a_module_runs_and_its_errors_name_the_original_lines(version: Tuple[int, int]) -> None:
    if find_interpreter(version) is None:
        pytest.skip("no such interpreter")
    code = compile_to_marshal(SOURCE, version, "first.py")
    found = port(code, version=version)
    assert found.version == version
    assert found.code.co_filename == "first.py"
    space: Dict[str, Any] = {}
    exec(found.code, space)
    add, scale, counted = space["outer"](10, 1)
    assert add(2) == ([10, 11], 7)
    assert scale(3) == 30
    assert counted().own() == 10
    with pytest.raises(ValueError) as caught:
        add(-1)
    place = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (place.filename, place.lineno, place.name) == ("first.py", 9, "add")
    renamed = port(code, version=version, filename="second.py")
    assert {c.co_filename for c in code_objects(renamed.code)} == {"second.py"}


def test_a_function_takes_its_closure_as_before() -> None:
    with compiling():
        module = compile(SOURCE, "first.py", "exec")
    for code in code_objects(module):
        found = port(marshal.dumps(code), version=RUNNING).code
        assert found.co_name == code.co_name
        assert found.co_freevars == code.co_freevars
        assert found.co_cellvars == code.co_cellvars
        arguments = code.co_argcount + code.co_kwonlyargcount
        assert found.co_varnames[:arguments] == code.co_varnames[:arguments]
        assert found.co_firstlineno == code.co_firstlineno


@pytest.mark.skipif(RUNNING < (3, 12), reason="this one has an object for each comprehension")
def test_what_has_no_code_object_of_its_own_is_refused() -> None:
    interpreter = find_interpreter((3, 11))
    if interpreter is None:
        pytest.skip("no such interpreter")
    made = "compile('[a for a in b]', '', 'eval').co_consts[0]"
    program = f"import marshal, sys; sys.stdout.buffer.write(marshal.dumps({made}))"
    code = subprocess.run([str(interpreter), "-c", program], stdout=subprocess.PIPE, check=True)
    with pytest.raises(CannotPort, match="no separate code object for <listcomp>"):
        port(code.stdout, version=(3, 11))


def test_differences_between_versions_are_said() -> None:
    text = 'def f(a: int):\n    """One.\n\n       Two."""\n    return locals()\n'
    other = (3, 12) if RUNNING >= (3, 14) else (3, 14)
    if find_interpreter(other) is None:
        pytest.skip("no such interpreter")
    notes = port(compile_to_marshal(text, other), version=other).notes
    said = " ".join(notes)
    assert "line 1: annotations are evaluated with the definition" in said
    assert ("locals() in a function" in said) == (RUNNING != (3, 13))


def test_annotations_that_are_strings_stay_strings() -> None:
    text = (
        "from __future__ import annotations\ndef outer():\n def f(a: None | int): pass\n return f\n"
    )
    with compiling():
        module = compile(text, "m.py", "exec")
    outer = next(c for c in code_objects(module) if c.co_name == "outer")
    function = types.FunctionType(port(marshal.dumps(outer), version=RUNNING).code, {})
    assert function().__annotations__ == {"a": "None | int"}


def test_what_cannot_be_ported_is_refused_with_a_reason() -> None:
    with compiling():
        code = compile("x = 1\n", "m.py", "exec")
    unspeakable = code.replace(co_names=("not a name",))
    with pytest.raises(CannotPort, match="no source can contain the name 'not a name'"):
        port(marshal.dumps(unspeakable), version=RUNNING)
    with pytest.raises(DecompileError):
        port(b"no code")
    if RUNNING < (3, 15) and find_interpreter((3, 15)):
        lazy = compile_to_marshal("lazy import a\n", (3, 15))
        with pytest.raises(CannotPort, match=r"a lazy import needs Python 3\.15"):
            port(lazy, version=(3, 15))


def pickled_by(version: Tuple[int, int], protocol: int) -> bytes:
    interpreter = find_interpreter(version)
    if interpreter is None:
        pytest.skip("no such interpreter")
    program = Path(__file__).with_name("pickled_function.py")
    command = [str(interpreter), str(program), str(protocol)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("version", OTHERS, ids=lambda v: "{}.{}".format(*v))
def test_a_pickle_is_loaded_with_ported_code(version: Tuple[int, int], protocol: int) -> None:
    original = pickled_by(version, protocol)
    found = port_pickle(original, version=version)
    assert [ported.code.co_name for ported in found.codes] == ["shift"]
    stream = io.BytesIO(found.data)
    loaded = pickle.load(stream)
    assert loaded["f"] is loaded["again"]
    assert loaded["f"]([1, 3]) == ([8, 10], [3, 1])
    assert loaded["many"] == "x" * 100000
    assert pickle.load(stream) == "the second"


def test_marshalled_code_in_a_pickle_is_ported() -> None:
    other = (3, 12) if RUNNING != (3, 12) else (3, 11)
    if find_interpreter(other) is None:
        pytest.skip("no such interpreter")
    code = compile_to_marshal("answer = [6 * 7 for _ in range(1)]\n", other)
    loaded = pickle.loads(port_pickle(pickle.dumps({"code": code}), version=other).data)
    space: Dict[str, Any] = {}
    exec(marshal.loads(loaded["code"]), space)
    assert space["answer"] == [42]


def test_pickles_without_code_stay_and_damaged_ones_are_refused() -> None:
    plain = pickle.dumps({"a": [1, 2.5, "b"]})
    assert port_pickle(plain).data == plain
    with pytest.raises(CannotPort, match="not a valid pickle"):
        port_pickle(plain[:-3])
