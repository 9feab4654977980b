"""What `import pellucid` offers: every public name, in one line each, and results that travel."""

import pickle
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any, Iterator

import pellucid
import pytest
from needs import ROOT
from pellucid import events

CAPTURE = ROOT / "tests" / "torch" / "schema_1"
FOR_DEPYF = {"code_transform", "explain", "optimization", "utils"}


def greet(names: Any, *, mark: str = "!") -> Any:
    return [f"hello {name}{mark}" for name in names]


def test_the_namespace_has_what_is_public_and_nothing_else() -> None:
    offered = {name for name in dir(pellucid) if not name.startswith("__")}
    assert offered == {*pellucid.__all__, *FOR_DEPYF} - {"__version__"}
    for name in offered - FOR_DEPYF - {"NanReport", "debug"}:  # those need torch
        assert getattr(pellucid, name) is not None
    with pytest.raises(AttributeError):
        pellucid.no_such_name  # noqa: B018


def test_importing_warns_of_nothing_and_loads_nothing_else() -> None:
    code = "import pellucid, sys; print([m for m in sys.modules if m.startswith('torch')])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}; print('pellucid._core' in sys.modules)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    assert done.stdout.split() == [b"[]", b"False"]


def objects() -> Iterator[Any]:
    capture = pellucid.load(CAPTURE)
    yield capture
    found = pellucid.find(capture)
    yield from (found[0], found[0].remedies, pellucid.compare(CAPTURE, CAPTURE))
    yield from ({type(event): event for event in capture.events}.values())
    result = pellucid.decompile_ex(greet)
    yield from (result, result.verdict, *result.verdict.codes, *result.line_map)
    long = "line\n" * 10_000
    key = events.CompileKey("0/0")
    yield events.Break(key, long, frames=(events.Place(long, 1),) * 1000)
    yield events.Graph(key, "captured", long, long, metadata={long: long})
    yield pellucid.Trial("works", long)
    yield pellucid.Difference(results=())


def test_each_object_has_a_repr_of_one_line() -> None:
    for value in objects():
        shown = repr(value)
        assert "\n" not in shown and len(shown) < 300, shown


def test_a_finding_is_shown_in_a_notebook() -> None:
    (first, *_) = pellucid.find(pellucid.load(CAPTURE))
    assert first._repr_html_().startswith("<div class='pellucid'>")


def test_a_result_prints_as_its_source_and_can_be_pickled() -> None:
    for found in (pellucid.decompile_ex(greet), pellucid.decompile_ex(greet)):
        again = pickle.loads(pickle.dumps(found))
        assert again == found and str(again) == found.source
        function = types.FunctionType(again.compile(), {}, None, None, None)
        function.__kwdefaults__ = greet.__kwdefaults__
        assert function(["you"]) == greet(["you"])
        assert again.verdict == found.verdict  # computed before the second round


def test_a_result_of_another_python_is_not_unpickled(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = pickle.dumps(pellucid.decompile_ex(greet))
    monkeypatch.setattr("importlib.util.MAGIC_NUMBER", b"????")
    with pytest.raises(pickle.UnpicklingError, match="another version of Python"):
        pickle.loads(pickled)


def test_compiling_a_source_prints_no_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scope: dict = {}
        exec("def odd(x):\n    return x is 1, 'text'()\n", scope)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pellucid.decompile_ex(scope["odd"]).compile()
        assert pellucid.decompile_ex(scope["odd"]).verdict.at_least("equivalent")
