"""Stepping: a real pdb, driven by script, stops in the dumped files; nobody is asked in vain."""

import io
import os
import pty
import re
import subprocess
import sys

import pytest
from pellucid.torch import debug, prepare_debug
from pellucid.torch.api.debug import cannot_prompt
from support import PROGRAMS, run_env, warm_python

SCRIPT = """\
import sys
import torch
import pellucid
import toy

torch.manual_seed(0)
compiled = torch.compile(toy.toy_example, backend="eager")
with pellucid.prepare_debug(sys.argv[1]):
    for _ in range(20):
        compiled(torch.randn(10), torch.randn(10))
with pellucid.debug():
    result = compiled(torch.full((10,), 2.0), torch.full((10,), 3.0))
print("result", result[0].item())
"""


def line_of(path, pattern):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.search(pattern, line) and not line.lstrip().startswith("#"):
            return number
    raise AssertionError(f"no line like {pattern!r} in {path}:\n{path.read_text()}")


@pytest.fixture(scope="module")
def dumped(torch, tmp_path_factory):
    """The script and the dump of one run of it; the next run writes the same files again."""
    folder = tmp_path_factory.mktemp("dumped")
    script, dump = folder / "script.py", folder / "dump"
    script.write_text(SCRIPT)
    done = pdb_run(script, dump, None, pdb=False)
    assert done.returncode == 0, done.stderr
    assert "does not pause: there is no terminal and no debugger" in done.stderr
    return script, dump


def program_env():
    environment = run_env()
    environment["PYTHONPATH"] = f"{PROGRAMS}{os.pathsep}{environment['PYTHONPATH']}"
    return environment


def pdb_run(script, dump, commands, pdb=True):
    return subprocess.run(
        [warm_python(), *(["-m", "pdb"] if pdb else []), str(script), str(dump)],
        input="" if commands is None else "\n".join(commands) + "\n",
        cwd=PROGRAMS,
        env=program_env(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_pdb_stops_in_transformed_code_and_in_a_graph_and_prints_locals(dumped):
    script, dump = dumped
    transformed = dump / "__transformed_code_0_0_for_toy_example.py"
    graph = dump / "__compiled_fn_0_0.captured.py"
    call = line_of(transformed, r"__compiled_fn_0_0\(|= __compiled_fn_0_0")
    add = line_of(graph, r"^\s*add\b")
    done = pdb_run(
        script,
        dump,
        [
            "continue",  # to the pause of debug()
            f"break {transformed}:{call}",
            f"break {graph}:{add}",
            "continue",
            "print('in transformed', a[0].item())",
            "continue",
            "print('in graph', abs_1[0].item())",
            "next",
            "print('stepped', add[0].item())",
            "clear 1",
            "clear 2",
            "continue",
            "quit",
        ],
    )
    output = done.stdout
    assert f"> {transformed}({call})toy_example()" in output, output + done.stderr
    assert "in transformed 2.0" in output
    assert f"> {graph}({add})forward()" in output
    assert "in graph 2.0" in output
    assert f"> {graph}({add + 1})forward()" in output
    assert "stepped 3.0" in output
    assert "result 2.0" in output
    assert "These files run:" in done.stderr
    assert str(transformed) in done.stderr and str(graph) in done.stderr


def test_pdb_starts_on_a_terminal(dumped):
    script, dump = dumped
    graph = dump / "__compiled_fn_0_0.captured.py"
    add = line_of(graph, r"^\s*add\b")
    keyboard, terminal = pty.openpty()
    try:
        os.write(
            keyboard, f"break {graph}:{add}\ncontinue\np 'in graph', abs_1[0].item()\n".encode()
        )
        os.write(keyboard, b"clear 1\ncontinue\n")
        done = subprocess.run(
            [sys.executable, str(script), str(dump)],
            stdin=terminal,
            env=program_env(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert "> " + str(script) in done.stdout, "pdb must stop in the user's frame, not in ours"
    assert "('in graph', 2.0)" in done.stdout, done.stdout + done.stderr
    assert "result 2.0" in done.stdout


def test_nobody_is_asked_without_a_terminal(capfd, monkeypatch):
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    monkeypatch.setattr("sys.stdin", None)
    with debug():
        pass
    assert "does not pause" in capfd.readouterr().err


@pytest.mark.parametrize("tracer", [None, lambda *_: None])
def test_nothing_is_traced_behind_the_block(tracer, monkeypatch):
    program = PROGRAMS / "toy.py"
    answers = f"break {program}:{line_of(program, '^def ')}\ncontinue\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    monkeypatch.setattr(sys.modules[debug.__module__], "_answers_wait", lambda: True)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with debug():
            inside = sys.gettrace()
        assert sys.gettrace() is tracer and inside not in (tracer, None)
        assert tracer is not None or sys._getframe().f_trace is None
    finally:
        sys.settrace(before)
    assert not sys.stdin.read()
    if hasattr(sys, "monitoring"):
        assert sys.monitoring.get_tool(sys.monitoring.DEBUGGER_ID) is None


def test_ranks_above_zero_are_never_asked(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    assert "rank 3" in cannot_prompt()


def test_a_tracer_that_is_no_debugger_does_not_count(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    monkeypatch.setattr("sys.stdin", None)
    previous = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        assert cannot_prompt()
    finally:
        sys.settrace(previous)


def test_backward_graph_runs_from_its_file(torch, dynamo, program, tmp_path):
    with prepare_debug(tmp_path) as session:
        program("toy").run("aot_eager", False, True, steps=20)
    stages = {graph.stage for graph in session.running_graphs()}
    assert {"forward", "backward"} <= stages
    text = (tmp_path / "__compiled_fn_0_0.backward.py").read_text()
    assert "breakpoints are hit" in text.splitlines()[1]
    assert "toy_example, code: x = a / (torch.abs(a) + 1)" in text
