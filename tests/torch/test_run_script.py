"""`pellucid run`: the script is run as Python runs it, and what it compiles is captured."""

import json
import re
import subprocess
import sys

import pytest
from support import PROGRAMS, run_env

SCRIPT = PROGRAMS / "scripted.py"
NOTHING = "pellucid: nothing to capture: the program did not import torch\n"


def outcome(command, cwd=None):
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**run_env(), "OMP_NUM_THREADS": "1"},
        cwd=cwd,
        input="one line\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    # torch's own log lines have the time in them.
    said = [line for line in done.stderr.splitlines(True) if not re.match(r"[VIWE]\d{4} ", line)]
    # Nor does the script say where the page is.
    said = [line for line in said if not re.fullmatch(r"pellucid: .*page\.html\n", line)]
    return done.returncode, sorted(done.stdout.splitlines()), "".join(said)


def captured(directory):
    events = json.loads((directory / "session.json").read_text())["events"]
    return [e["place"]["function"] for e in events if e["event"] == "Frame"]


@pytest.mark.parametrize("how", ["raise", "status", "message"])
def test_script_sees_and_says_what_it_does_alone(how, torch, tmp_path):
    # Python makes the script's name absolute.
    command = [SCRIPT.name, how, "--out", "mine", "-x"]
    alone = outcome(command, PROGRAMS)
    ours = outcome(["-m", "pellucid", "run", "--out", tmp_path, *command], PROGRAMS)
    assert ours == alone
    assert ours[0] == {"raise": 1, "status": 3, "message": 1}[how]
    assert captured(tmp_path) == ["work"]


def test_script_sees_the_same_where_pellucid_is_not_installed(torch, tmp_path):
    command = [SCRIPT.name, "raise", "-x"]
    alone = outcome(command, PROGRAMS)
    text = (
        "import sys; from pellucid.torch.api import run_script; "
        "run_script.is_installed = lambda: False; "
        f"sys.exit(run_script.run(sys.argv[1], sys.argv[2:], {str(tmp_path)!r}, False))"
    )
    ours = outcome(["-c", text, *command], PROGRAMS)
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
    assert ours[2] == NOTHING


def test_module_and_the_place_to_write_to_behind_the_arguments(torch, tmp_path):
    alone = outcome(["-m", "scripted", "end", "-v"], PROGRAMS)
    ours = outcome(
        ["-m", "pellucid", "run", "-m", "scripted", "end", "-v", "--out", tmp_path], PROGRAMS
    )
    assert ours[:2] == alone[:2] and alone[0] == 0
    assert captured(tmp_path) == ["work"]


def test_what_is_missing_is_said(torch, tmp_path):
    status, _, said = outcome(["-m", "pellucid", "run", SCRIPT])
    assert (status, "--out DIR" in said) == (2, True)
    status, _, said = outcome(["-m", "pellucid", "run", "--out", tmp_path, "no_such.py"])
    assert (status, said) == (2, "pellucid: no_such.py: no such file or directory\n")
    status, _, said = outcome(["-m", "pellucid", "run"])
    assert (status, said.count("\n"), "missing SCRIPT" in said) == (2, 2, True)
    status, _, said = outcome(["-m", "pellucid", "run", "x.py", "--out"])
    assert (status, said.count("\n")) == (2, 1)
    quiet = [*["-W", "ignore", "-m", "pellucid", "run", "-m"], "no_such", "--out", tmp_path]
    status, _, said = outcome(quiet)
    assert (status, said) == (1, f"{sys.executable}: No module named no_such\n{NOTHING}")


def test_guards_are_read_before_torch_drops_its_caches(torch, tmp_path):
    (tmp_path / "made.py").write_text(
        "import torch\n"
        "net = torch.nn.Sequential(torch.nn.Linear(2, 2))\n"
        "torch.compile(net, backend='eager')(torch.ones(1, 2))\n"
    )
    assert outcome(["-m", "pellucid", "run", "--out", "d", "made.py"], tmp_path)[0] == 0
    (cache,) = json.loads((tmp_path / "d" / "session.json").read_text())["caches"]
    assert [len(entry["guards"]) > 5 for entry in cache["entries"]] == [True]
