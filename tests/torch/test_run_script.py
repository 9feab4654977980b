"""`pellucid run`: the script is run as Python runs it, and what it compiles is captured."""

import json
import re
import signal
import subprocess
import sys

import pytest
from pellucid.report.ending import tell_end
from pellucid.torch.api import run_script
from support import PROGRAMS, run_env, warm_python

SCRIPT = PROGRAMS / "scripted.py"
NOTHING = "pellucid: nothing was compiled: the program did not import torch"
SUMMARY = r"^Compiled    .*?^pellucid: [^\n]*page\.html\n"


def outcome(command, cwd=None, python=None):
    done = subprocess.run(
        [python or warm_python(), *map(str, command)],
        env=run_env(),
        cwd=cwd,
        input="one line\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    # torch's own log lines have the time in them.
    said = [line for line in done.stderr.splitlines(True) if not re.match(r"[VIWE]\d{4} ", line)]
    # Nor does the script say how the capture went.
    text = re.sub(SUMMARY, "", "".join(said), flags=re.DOTALL | re.MULTILINE)
    return done.returncode, sorted(done.stdout.splitlines()), text


def captured(directory):
    events = json.loads((directory / "session.json").read_text())["events"]
    return [e["place"]["function"] for e in events if e["event"] == "Frame"]


@pytest.mark.parametrize("how", ["raise", "status", "message"])
def test_script_sees_and_says_what_it_does_alone(how, torch, tmp_path):
    # Python makes the script's name absolute.
    command = [SCRIPT.name, how, "--out", "mine", "-x"]
    python = sys.executable if how == "raise" else warm_python()
    alone = outcome(command, PROGRAMS, python)
    ours = outcome(["-m", "pellucid", "run", "--out", tmp_path, *command], PROGRAMS, python)
    assert ours == alone
    assert ours[0] == {"raise": 1, "status": 3, "message": 1}[how]
    assert captured(tmp_path) == ["work"]


def test_script_sees_the_same_where_pellucid_is_not_installed(torch, tmp_path):
    command = [SCRIPT.name, "raise", "-x"]
    alone = outcome(command, PROGRAMS, sys.executable)
    text = (
        "import sys; from pellucid.torch.api import run_script; "
        "run_script.is_installed = lambda: False; "
        f"sys.exit(run_script.run(sys.argv[1], sys.argv[2:], {str(tmp_path)!r}, False))"
    )
    ours = outcome(["-c", text, *command], PROGRAMS, sys.executable)
    frames = [[line for line in said[1] if line.startswith("frames")] for said in (alone, ours)]
    assert frames[0] == ["frames ['<module>', 'main']"] != frames[1]
    alone[1].remove(*frames[0])
    ours[1].remove(*frames[1])
    assert ours == alone
    assert captured(tmp_path) == ["work"]


def test_options_of_python_are_those_of_the_script(torch, tmp_path):
    text = "import sys\nprint(sys.flags.dev_mode, sys.flags.optimize, sys.warnoptions, sys.argv)\n"
    (tmp_path / "shows.py").write_text(text)
    options = ["-X", "dev", "-W", "error::FutureWarning"]
    alone = outcome([*options, "-O", "shows.py", "-m"], tmp_path)
    ours = outcome([*options, "-Om", "pellucid", "run", "--out", "d", "shows.py", "-m"], tmp_path)
    assert ours[:2] == alone[:2] and alone[0] == 0
    assert ours[2].startswith(NOTHING) and ours[2].count("\n") == 1


def test_a_module_is_run_with_its_arguments(torch, tmp_path):
    alone = outcome(["-m", "scripted", "end", "-v"], PROGRAMS)
    command = ["-m", "pellucid", "run", "--out", tmp_path, "-m", "scripted", "end", "-v"]
    ours = outcome(command, PROGRAMS)
    assert ours[:2] == alone[:2] and alone[0] == 0
    assert captured(tmp_path) == ["work"]


def test_what_is_missing_is_said(torch, tmp_path):
    status, _, said = outcome(["-m", "pellucid", "run", "--out=", SCRIPT])
    assert (status, "--out is empty" in said) == (2, True)
    status, _, said = outcome(["-m", "pellucid", "run", "--out", tmp_path, "no_such.py"])
    assert (status, said) == (2, "pellucid: no_such.py: no such file or directory\n")
    status, _, said = outcome(["-m", "pellucid", "run"])
    assert (
        status == 2 and said.startswith("usage: ") and "required: SCRIPT" in said.splitlines()[-1]
    )
    quiet = ["-W", "ignore", "-m", "pellucid", "run", "--out", tmp_path, "-m", "no_such"]
    status, _, said = outcome(quiet)
    assert status == 1
    assert said.startswith(f"{sys.executable}: No module named no_such\n{NOTHING}")


def test_guards_are_read_before_torch_drops_its_caches(torch, tmp_path):
    (tmp_path / "made.py").write_text(
        "import torch\n"
        "net = torch.nn.Sequential(torch.nn.Linear(2, 2))\n"
        "torch.compile(net, backend='eager')(torch.ones(1, 2))\n"
    )
    command = ["-m", "pellucid", "run", "--out", "d", "made.py"]
    assert outcome(command, tmp_path, sys.executable)[0] == 0
    (cache,) = json.loads((tmp_path / "d" / "session.json").read_text())["caches"]
    assert [len(entry["guards"]) > 5 for entry in cache["entries"]] == [True]


GIVEN = """\
import os, sys
{}
sys.exit(int(os.environ.get("STATUS", "0")))
"""
FUNCTION = """\
import torch

@torch.compile(backend="eager")
def add(x):
    return x + 1

"""
WRAP = "Wrap a function or a module in torch.compile and call it."
NOT_CALLED = "torch.compile was called, but no call of the function that it returned was seen"
FIRST = "PyTorch compiles at the first call."
SWITCH = "torch._dynamo.config.disable"
IDLE = {
    "no torch": ("print('hello')", f"the program did not import torch. {WRAP}"),
    "no compile": (
        "import torch\ntorch.ones(2)",
        f"the program did not call torch.compile. {WRAP}",
    ),
    "never called": (FUNCTION, f"{NOT_CALLED}. Call it: {FIRST}"),
    "ends first": (f"{FUNCTION}sys.exit(3)\nadd(torch.ones(2))", f"{NOT_CALLED}. Call it: {FIRST}"),
    "raises first": (
        f"{FUNCTION}raise KeyError(1)\nadd(torch.ones(2))",
        f"{NOT_CALLED} before the program raised KeyError. Fix the error and run it again.",
    ),
    "raises without torch": (
        "raise KeyError(1)",
        "the program did not import torch before it raised KeyError. "
        "Fix the error and run it again.",
    ),
    "disabled": (
        f"{FUNCTION}{SWITCH} = True\nadd(torch.ones(2))",
        f"{SWITCH} = True turns torch.compile off. Set {SWITCH} = False.",
    ),
    "disabled call": (
        "import torch\ntorch.compile(lambda x: x + 1, disable=True)(torch.ones(2))",
        "no call of a compiled function was seen. "
        f"Call a function or a module wrapped in torch.compile: {FIRST}",
    ),
}


def lines_of_run(script, folder):
    """Return what `pellucid run` says of a script on standard error, without torch's log."""
    command = [warm_python(), "-m", "pellucid", "run", script]
    done = subprocess.run(command, env=run_env(), cwd=folder, stderr=subprocess.PIPE, text=True)
    return [line for line in done.stderr.splitlines() if not re.match(r"[IWE]\d{4} ", line)]


@pytest.fixture
def installed(torch):
    if not run_script.is_installed():
        pytest.skip("needs pellucid.pth")


@pytest.mark.parametrize("name", IDLE)
def test_a_script_that_compiles_nothing_is_told_why_in_one_line(name, installed, tmp_path):
    text, why = IDLE[name]
    (tmp_path / "train.py").write_text(GIVEN.format(text))
    _, _, said = outcome(["-m", "pellucid", "run", "train.py"], tmp_path)
    lines = [line for line in said.splitlines() if line.startswith("pellucid")]
    assert lines == [f"pellucid: nothing was compiled: {why}"]
    assert "Warning" not in said and "pellucid" not in "".join(said.splitlines()[:-1])


def test_a_variable_that_disables_compiling_is_named(installed, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    (tmp_path / "train.py").write_text(f"{FUNCTION}add(torch.ones(2))")
    said = outcome(["-m", "pellucid", "run", "train.py"], tmp_path)[2]
    why = "TORCHDYNAMO_DISABLE=1 turns torch.compile off. Unset TORCHDYNAMO_DISABLE."
    assert said == f"pellucid: nothing was compiled: {why}\n"


@pytest.mark.parametrize("head", ["", "import torch\n"], ids=["no torch", "torch"])
def test_what_a_launcher_starts_is_what_is_told(head, installed, tmp_path):
    (tmp_path / "work.py").write_text(f"{FUNCTION}add(torch.ones(2))")
    (tmp_path / "launch.py").write_text(
        f"{head}import subprocess, sys\nsubprocess.run([sys.executable, 'work.py'], check=True)\n"
    )
    first, *between, last = lines_of_run("launch.py", tmp_path)
    assert first == "Compiled    1 function, 1 graph, 1 of 1 line compiled: `add` (work.py:4)"
    assert last.endswith("page.html") and "nothing" not in "".join(between)


def test_a_capture_of_an_earlier_run_is_not_told_again(installed, tmp_path):
    (tmp_path / "work.py").write_text(f"{FUNCTION}add(torch.ones(2))")
    (tmp_path / "idle.py").write_text("import torch\n")
    command = ["-m", "pellucid", "run", "--out", "d"]
    assert outcome([*command, "work.py"], tmp_path)[2] == ""
    assert "nothing was compiled" in outcome([*command, "idle.py"], tmp_path)[2]


def test_the_default_directory_is_numbered_when_it_is_taken(installed, tmp_path):
    (tmp_path / "work.py").write_text(f"{FUNCTION}add(torch.ones(2))")
    for name in ("pellucid_dump", "pellucid_dump_2", "pellucid_dump_3"):
        assert outcome(["-m", "pellucid", "run", "work.py"], tmp_path)[2] == ""
        assert captured(tmp_path / name) == ["add"]
    (tmp_path / "pellucid_dump").rename(tmp_path / "other")
    (tmp_path / "pellucid_dump").mkdir()
    assert outcome(["-m", "pellucid", "run", "work.py"], tmp_path)[0] == 0
    assert captured(tmp_path / "pellucid_dump") == ["add"]


def test_findings_are_summed_up_at_the_end_unless_quiet(torch, tmp_path, monkeypatch, capfd):
    (tmp_path / "work.py").write_text(
        "import torch\n\n"
        "@torch.compile(backend='eager')\n"
        "def f(x):\n"
        "    if x.sum() > 0:\n"
        "        x = x * 2\n"
        "    return x + 1\n\n"
        "f(torch.ones(2))\n"
    )
    lines = lines_of_run("work.py", tmp_path)
    assert lines[0] == "Compiled    1 function, 2 graphs, 3 of 3 lines compiled: `f` (work.py:4)"
    assert "Found       1 graph break" in lines
    assert "1. graph break  work.py:5   if x.sum() > 0:" in lines
    page = tmp_path / "pellucid_dump" / "page.html"
    assert lines[-1].endswith(str(page.relative_to(tmp_path))) and page.exists()
    assert all(len(line) <= 100 for line in lines[:-1])
    monkeypatch.setenv("PELLUCID_QUIET", "1")
    tell_end(tmp_path / "pellucid_dump")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("head", ["", FUNCTION + "add(torch.ones(2))\n"], ids=["idle", "captured"])
def test_an_interrupted_script_ends_as_it_does_alone(head, installed, tmp_path):
    (tmp_path / "waits.py").write_text(
        f"{head}import time\nprint('on', flush=True)\ntime.sleep(99)\n"
    )
    statuses = []
    for how in ([], ["-m", "pellucid", "run"]):
        with subprocess.Popen(
            [sys.executable, *how, "waits.py"],
            env=run_env(),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout.readline() == "on\n"
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
        statuses.append(process.returncode)
        assert "KeyboardInterrupt" in said
    assert statuses == [-signal.SIGINT, -signal.SIGINT]
    told = (
        "Compiled " if head else "before it was interrupted. Let it run until the first such call."
    )
    assert told in said
