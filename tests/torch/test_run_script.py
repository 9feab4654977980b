"""`pellucid run`: the script is run as Python runs it, and what it compiles is captured."""

import json
import re
import subprocess
import sys

import pytest
from support import PROGRAMS, run_env

SCRIPT = PROGRAMS / "scripted.py"


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


def test_module_and_the_place_to_write_to_behind_the_arguments(torch, tmp_path):
    alone = outcome(["-m", "scripted", "end", "-v"], PROGRAMS)
    ours = outcome(
        ["-m", "pellucid", "run", "-m", "scripted", "end", "-v", "--out", tmp_path], PROGRAMS
    )
    assert ours[0] == alone[0] == 0
    # Only until its last line has run is a module `__main__`; Python's own -m has it longer.
    assert [x for x in ours[1] if "at exit" not in x] == [x for x in alone[1] if "at exit" not in x]
    assert captured(tmp_path) == ["work"]


def test_what_is_missing_is_said(torch, tmp_path):
    status, _, said = outcome(["-m", "pellucid", "run", SCRIPT])
    assert (status, "--out DIR" in said) == (2, True)
    status, _, said = outcome(["-m", "pellucid", "run", "--out", tmp_path, "no_such.py"])
    assert (status, said) == (2, "pellucid: no_such.py: no such file or directory\n")
    status, _, said = outcome(["-m", "pellucid", "run"])
    assert (status, said.count("\n"), "give a script" in said) == (2, 1, True)
    status, _, said = outcome(["-m", "pellucid", "run", "x.py", "--out"])
    assert (status, said.count("\n")) == (2, 1)
    quiet = [*["-W", "ignore", "-m", "pellucid", "run", "-m"], "no_such", "--out", tmp_path]
    status, _, said = outcome(quiet)
    assert (status, said) == (1, "pellucid: No module named no_such\n")
