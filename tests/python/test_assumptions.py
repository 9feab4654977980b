"""What a proof assumes: each row of the table in docs/verdicts.md has a test of its name here.

A test shows what its assumption means: a text that is called proven, and what tells it from the
code all the same.
"""

import dis
import importlib.util
import marshal
import re
import subprocess
import sys
import types
from typing import Any, Callable, Dict, Tuple

import pytest
from needs import ROOT, need
from pellucid import Decompilation, _core, decompile_ex
from pellucid.decompilation import prove_pyc

Change = Callable[[types.CodeType], types.CodeType]
INTERRUPTED = """
import signal, sys
class Stop(Exception): pass
def handler(*_): raise Stop
signal.signal(signal.SIGALRM, handler)
exec(sys.stdin.read())
signal.setitimer(signal.ITIMER_REAL, 0.05)
try: print(f())
except Stop: print('not caught')
"""
ENDLESS = """
def f():
    try:
        while True: pass
    except Stop:
        return 'caught'
"""


def changed(text: str, change: Change, which: int = 0) -> types.CodeType:
    """Return the code of a module with one of its functions changed."""
    module = compile(text, "assumed.py", "exec", dont_inherit=True)
    places = [i for i, c in enumerate(module.co_consts) if isinstance(c, types.CodeType)]
    constants = list(module.co_consts)
    constants[places[which]] = change(constants[places[which]])
    return module.replace(co_consts=tuple(constants))


def proven(code: types.CodeType) -> Decompilation:
    found, verdict = prove_pyc(marshal.dumps(code), version=sys.version_info[:2])
    assert verdict.at_least("equivalent"), verdict.reason
    return found


def both(code: types.CodeType) -> Tuple[Any, Any]:
    """Return the names that the code and its proven text define."""
    spaces: Tuple[Dict[str, Any], Dict[str, Any]] = ({}, {})
    exec(code, spaces[0])
    exec(proven(code).source, spaces[1])
    return types.SimpleNamespace(**spaces[0]), types.SimpleNamespace(**spaces[1])


def with_constant(old: Any, new: Any) -> Change:
    def change(code: types.CodeType) -> types.CodeType:
        return code.replace(co_consts=tuple(new if c == old else c for c in code.co_consts))

    return change


def test_each_assumption_has_a_row_and_a_test() -> None:
    table = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    tests = [name[5:] for name in globals() if name.startswith("test_") and "_row_" not in name]
    assert rows and sorted(rows) == sorted(tests)


def test_metadata() -> None:
    code, text = both(compile("\n\n\ndef f(): pass\n", "assumed.py", "exec"))
    assert (code.f.__code__.co_firstlineno, text.f.__code__.co_firstlineno) == (4, 1)


def test_code_objects() -> None:
    more: Change = lambda code: code.replace(co_consts=(*code.co_consts, "unused"))  # noqa: E731
    code, text = both(changed("def f(): return f.__code__.co_consts\n", more))
    assert "unused" in code.f.__code__.co_consts
    assert "unused" not in text.f.__code__.co_consts


def test_equal_constants() -> None:
    source = "def f(): return 1.5\ndef g(): return 1.5\n"
    code, text = both(changed(source, with_constant(1.5, float("1.5"))))
    assert code.f() is not code.g()
    assert text.f() is text.g()


def test_resources() -> None:
    larger: Change = lambda code: code.replace(co_stacksize=code.co_stacksize + 9)  # noqa: E731
    source = "import sys\ndef f(): return sys._getframe().__sizeof__()\n"
    code, text = both(changed(source, larger))
    assert code.f() > text.f()


def test_temporaries() -> None:
    """Only a text with names that the code lacks keeps an object longer, in a live function."""
    generated = compile("def f(a):\n    a()\n    return 1\n", "assumed.py", "exec").co_consts[0]
    longer = compile("def f(a):\n    t = a()\n    return 1\n", "assumed.py", "exec").co_consts[0]
    assert _core.compare_codes(generated, longer, extra_locals=True)[0] == "equivalent"
    assert _core.compare_codes(generated, longer)[0] == "unproven"


def test_interruptions() -> None:
    """A `while True: pass` in one line has its jump outside of the `try`, up to 3.12."""
    python = str(need("python3.11"))
    compiled = "import marshal, sys; sys.stdout.buffer.write(marshal.dumps("
    compiled += "compile(sys.stdin.read(), 'assumed.py', 'exec')))"

    def run(program: str, given: str) -> bytes:
        asked = [python, "-c", program]
        return subprocess.run(
            asked, input=given.encode(), stdout=subprocess.PIPE, check=True
        ).stdout

    code = run(compiled, ENDLESS)
    found, verdict = prove_pyc(code, version=(3, 11))
    assert verdict.at_least("equivalent")
    assert run(INTERRUPTED, ENDLESS) == b"not caught\n"
    assert run(INTERRUPTED, found.source) == b"caught\n"
    _, strict = prove_pyc(code, "strict", version=(3, 11))
    assert strict.status == "unproven"
    assert "jump back" in strict.reason


def test_globals() -> None:
    """A mapping that runs code changes what a function takes from it when it is made."""
    spec = importlib.util.spec_from_file_location(
        "assembler", ROOT / "fuzz" / "adversary" / "assembler.py"
    )
    assert spec is not None and spec.loader is not None
    assembler = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(assembler)

    def made_first(code: types.CodeType) -> types.CodeType:
        parts = assembler.take_apart(code)
        names = [dis.opname[instr.op] for instr in parts.instrs]
        at = names.index("LOAD_GLOBAL")
        end = names.index("MAKE_FUNCTION") + 1
        parts.instrs[at:end] = [*parts.instrs[at + 1 : end], parts.instrs[at]]
        parts.instrs.insert(end, assembler.Instr(dis.opmap["SWAP"], 2))
        return assembler.put_together(code, parts)

    class Space(Dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            self["__name__"] = name
            return dict.__getitem__(self, name)

    code = changed("def f(): return g, (lambda: 0)\n", made_first)
    modules = []
    for program in (code, compile(proven(code).source, "assumed.py", "exec")):
        space = Space(g=1, __name__="first")
        exec(program, space)
        space["__name__"] = "first"
        modules.append(dict.__getitem__(space, "f")()[1].__module__)
    assert modules == ["first", "g"]


def test_other_programs() -> None:
    """A text that is a loop over a state has a variable for it, which frames show."""

    def f(x: int, seen: Any) -> int:
        while x:
            x = seen(x)
        return x

    found = decompile_ex(f, unstructured=True)
    assert found.verdict.at_least("equivalent"), found.verdict.reason
    listed = []

    def seen(x: int) -> int:
        listed.append(sorted(sys._getframe(1).f_locals))
        return x - 1

    for code in (f.__code__, found.compile()):
        types.FunctionType(code, {})(1, seen)
    assert listed[0] == ["seen", "x"]
    assert len(listed[1]) > 2


@pytest.fixture(autouse=True)
def _only_where_it_is_compiled() -> None:
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the changes are those of one version")
