"""`assert_compiles`, the fixture that captures a test, and snapshots of findings: green and red."""

import functools
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pellucid.testing import assert_compiles
from support import run_env, torch_version, warm_python

CLEAN = """\
import torch


@torch.compile(backend="eager")
def step(x):
    y = torch.tanh(x)
    y = y * 2
    return y.sum()
"""
BREAKS = CLEAN.replace("    y = y * 2", "    if y.sum() > 0:\n        y = y * 2")
TESTS = """\
import pytest
import torch
from program import step


def test_step(pellucid_capture):
    step(torch.ones(3))
    pellucid_capture.assert_snapshot()


@pytest.mark.parametrize("size", [3])
def test_wrong(pellucid_capture, size):
    assert step(torch.zeros(size)) == 1


def test_numbers(pellucid_capture):
    step(torch.ones(3))
    step(torch.ones(4))
    pellucid_capture.assert_compiles(recompiles=1, graphs=2)
    assert pellucid_capture.has_compiled and len(pellucid_capture.findings) == 1
"""


@pytest.fixture
def compiled(torch, dynamo):
    return functools.partial(torch.compile, backend="eager")


def failure(function, *args, **expected):
    """What the assertion says when it fails; its page is there."""
    with pytest.raises(AssertionError) as raised:
        assert_compiles(function, *args, **expected)
    text = str(raised.value)
    page = text[text.index("\nOpen ") + len("\nOpen ") :].split()[0]
    assert Path(page).is_file()
    shutil.rmtree(Path(page).parent)
    return text


def test_a_function_that_compiles_whole_gives_its_result(torch, compiled):
    assert assert_compiles(compiled(lambda x: x * 2 + 1), torch.ones(2)).tolist() == [3, 3]
    assert assert_compiles(compiled(lambda x, y: x + y), torch.ones(1), y=1).tolist() == [2]


def test_a_function_that_compiles_nothing_is_compiled(torch, dynamo, monkeypatch):
    calls = []
    known = torch.compile

    def compile(function):
        calls.append(function)
        return known(function, backend="eager")

    monkeypatch.setattr(torch, "compile", compile)
    assert assert_compiles(torch.square, torch.full((1,), 3.0)).tolist() == [9]
    inner = known(lambda x: x + 1, backend="eager")
    assert assert_compiles(lambda x: inner(x), torch.ones(1)).tolist() == [2]
    assert calls == [torch.square]


def test_the_error_names_the_line_the_cause_and_the_remedy(torch, compiled):
    def step(x):
        if x.sum() > 0:
            x = x + 1
        return x * 2

    text = failure(compiled(step), torch.ones(3))
    first, _, rest = text.partition("\n")
    assert first == "expected 0 graph breaks, 1 graph; got 1 graph break, 2 graphs"
    line = step.__code__.co_firstlineno + 1
    assert f"1. graph break  test_testing.py:{line}   if x.sum() > 0:" in rest
    assert "The branch depends on a tensor's values" in rest and "torch.where" in rest
    assert "If this is intended, pass breaks=1, graphs=2 to assert_compiles." in rest
    assert "or run: pellucid explain " in rest
    assert_compiles(compiled(step), torch.ones(3), breaks=1)
    assert_compiles(compiled(step), torch.ones(3), breaks=1, graphs=2)
    assert failure(compiled(step), torch.ones(3), breaks=2).startswith("expected 2 graph breaks; ")


def test_the_second_call_finds_what_recompiles_for_the_same_arguments(torch, compiled):
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    text = failure(compiled(Counts()), torch.ones(3))
    assert "expected 0 recompiles, 1 graph; got 1 recompile, 2 graphs" in text
    assert "1. recompile  test_testing.py" in text
    if torch_version() >= (2, 6):  # older ones do not say what changed
        assert "the int `self.calls` changed from 0 to 1" in text
    assert_compiles(compiled(Counts()), torch.ones(3), calls=1)


def test_a_reset_between_the_calls_is_the_reason_for_a_second_graph(torch, compiled):
    step = compiled(lambda x: x * 2)

    def again():
        torch._dynamo.reset()
        return step(torch.ones(3))

    text = failure(again)
    assert "expected 1 graph; got 2 graphs" in text
    assert "reset() was called during the calls" in text


def test_an_error_of_the_compiler_is_explained_and_others_are_raised(torch, compiled):
    wrong_shapes = compiled(lambda x: x @ torch.ones(x.shape[0] + 1, 2))
    text = failure(wrong_shapes, torch.ones(3))
    assert text.startswith("the call raised ") and "1. failed compile  test_testing.py" in text

    def whole(x):
        return x + 1 if x.sum() > 0 else x

    text = failure(compiled(whole, fullgraph=True), torch.ones(3))
    assert "1. failed compile" in text and "pass " not in text
    assert "torch.where" in text or torch_version() < (2, 6)

    def wrong(x):
        compiled(torch.sin)(x)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        assert_compiles(wrong, torch.ones(3))
    # Before anything was compiled, which is no reason for it.
    with pytest.raises(LookupError, match="early"):
        assert_compiles(lambda x: {}[x], "early")


def test_threads_take_turns(torch, compiled):
    """A capture has all that the process compiles, so two of them would mix."""
    steps = [compiled(lambda x: x + 1), compiled(lambda x: x * 2)] * 2
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(functools.partial(assert_compiles, x=torch.ones(1)), steps)
        assert [result.item() for result in results] == [2, 2, 2, 2]


def test_what_runs_uncompiled_fails_unless_it_is_allowed(torch, compiled):
    text = failure(compiled(lambda x: x), 3)
    assert text.startswith("expected 1 graph; got 0 graphs")
    assert "nothing compiled" in text or torch_version() < (2, 6)
    with pytest.raises(ValueError, match="unknown kind of finding: 'nonsense'"):
        assert_compiles(compiled(torch.sin), torch.ones(1), allow=["nonsense"])
    with pytest.raises(ValueError, match="unknown kind of finding: 'nonsense'"):
        assert_compiles(compiled(torch.sin), torch.ones(1), allow="nonsense")


@pytest.fixture
def project(torch, tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "program.py").write_text(CLEAN)

    def run(*arguments, python=""):
        env = {**run_env(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        plugins = ("-p", "pellucid.testing.plugin", "-p", "no:logging", "-p", "no:warnings")
        command = [python or warm_python(), "-m", "pytest", *plugins, "--tb=short", *arguments]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "check": False}
        return subprocess.run(command, cwd=tmp_path, env=env, **options).stdout.decode()

    return run


def test_a_snapshot_is_written_kept_and_shows_what_changed(project, tmp_path):
    told = project("-k", "test_step")
    name = os.path.join("pellucid_snapshots", "test_it", "test_step.json")
    assert f"there is no snapshot {name} yet. To write it, run: pytest test_it.py::test" in told
    assert "1 passed" in project("-k", "test_step", "--pellucid-update")
    written = (tmp_path / name).read_text()
    assert '"findings": []' in written and '"graphs": 1' in written

    (tmp_path / "program.py").write_text("# one more line\n" + CLEAN)
    assert "1 passed" in project("-k", "test_step")
    (tmp_path / "program.py").write_text(BREAKS)
    told = project("-k", "test_step")
    assert "1 failed" in told and f"the findings differ from {name}" in told
    assert "1 graph before, now 2." in told and "New:" in told
    assert "1. graph break  program.py:7   if y.sum() > 0:" in told and "torch.where" in told
    assert "Captured pellucid" not in told  # it is said once
    assert (tmp_path / ".pytest_cache/d/pellucid/test_it/test_step/page.html").is_file()

    (tmp_path / name).write_text("[]")
    told = project("-k", "test_step")
    assert f"{tmp_path / name} is not a snapshot" in told
    assert ". To write it again, run: pytest test_it.py::test_step --pellucid-update" in told


@pytest.mark.thorough
def test_a_snapshot_shows_what_is_new_alone_and_what_is_gone(project, tmp_path):
    (tmp_path / "program.py").write_text(BREAKS)
    assert "1 passed" in project("-k", "test_step", "--pellucid-update")
    text = BREAKS.replace("    return", "    if y.sum() > 3:\n        y = y + 1\n    return")
    (tmp_path / "program.py").write_text(text)
    told = project("-k", "test_step")
    assert "program.py:9   if y.sum() > 3:" in told and "program.py:7" not in told
    (tmp_path / "program.py").write_text(CLEAN)
    assert "-  graph break  program.py   if y.sum() > 0:" in project("-k", "test_step")


def test_a_capture_is_named_after_its_test_and_shown_if_the_test_fails(project, tmp_path):
    told = project("-k", "wrong or numbers", "--pellucid-out", "out")
    assert "1 failed, 1 passed" in told, told
    assert "Captured pellucid teardown" in told and "Found       no problems" in told
    folder = tmp_path / "out" / "test_it" / "test_wrong[3]"
    assert f"or run: pellucid explain {folder}" in told
    assert (folder / "page.html").is_file()
    assert '"test_it.py::test_wrong[3]"' in (folder / "times.json").read_text()
    assert (tmp_path / "out" / "test_it" / "test_numbers" / "session.json").is_file()


def test_the_capture_of_an_assertion_is_not_part_of_that_of_its_test(project, tmp_path):
    (tmp_path / "test_both.py").write_text(
        "import torch\n"
        "from pellucid.testing import assert_compiles\n"
        "from program import step\n"
        "def test_both(pellucid_capture):\n"
        "    try:\n"
        "        assert_compiles(step, torch.ones(3), graphs=2)\n"
        "    except AssertionError as error:\n"
        "        assert 'test_both.assert_compiles' in str(error)\n"
        "    assert len(pellucid_capture.captures) == 1\n"
    )
    assert "1 passed" in project("test_both.py")


def test_it_works_in_the_workers_of_xdist(project, tmp_path):
    pytest.importorskip("xdist")
    told = project("-p", "xdist", "-n", "1", "--pellucid-update", python=sys.executable)
    assert "1 failed, 2 passed" in told and "Captured pellucid teardown" in told, told
    assert (tmp_path / "pellucid_snapshots" / "test_it" / "test_step.json").is_file()
    assert (tmp_path / ".pytest_cache/d/pellucid/test_it/test_wrong[3]/page.html").is_file()
