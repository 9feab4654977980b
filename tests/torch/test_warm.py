"""A fork of a process that has imported torch is, for a program, a Python that has just started."""

import os
import re
import subprocess
import sys

import pytest
from support import run_env, warm_python

PROGRAM = """\
import sys
print("torch" in sys.modules, sys.argv, sys.path[0], __name__, __file__, sys.stdin.read())
print("to", sys.stderr.name, file=sys.stderr)
import torch
print("torch._dynamo" in sys.modules, "_dynamo" in vars(torch), torch.get_num_threads())
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
print("torch._dynamo" in sys.modules, vars(torch)["_dynamo"] is sys.modules["torch._dynamo"])
import torch._dynamo.utils
print(torch._dynamo.utils.__spec__.name, torch._dynamo.__spec__.name, torch.__spec__.parent)
"""
ENDINGS = {
    "text": ["-c", "import sys; print(sys.argv, sys.path[0] == ''); sys.exit(3)", "a"],
    "words": ["-c", "import sys; sys.exit('words')"],
    "error": ["fails.py"],
    "signal": ["-c", "import os; os.abort()"],
    "module": ["-m", "shows", "-x"],
    "missing": ["-m", "none"],
    "option": ["-O", "-c", "import sys; print(sys.flags.optimize)"],
}


def outcome(python, command, folder, **more):
    done = subprocess.run(
        [python, *command],
        cwd=folder,
        env={**run_env(), **more},
        input="given",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    # torch says some things when it is imported.
    said = [line for line in done.stderr.splitlines() if not re.match(r"[VIWE]\d{4} ", line)]
    return done.returncode, done.stdout, said


@pytest.fixture
def warm(torch):
    if warm_python() == sys.executable:
        pytest.skip("no process can be forked for each program here")
    return warm_python()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "fails.py").write_text("import os\ndef f():\n    os.stat('none')\nf()\n")
    (tmp_path / "shows.py").write_text(
        "import sys\nprint(sys.argv, __name__, __spec__.name)\n1 / 0"
    )
    return tmp_path


def test_a_program_finds_what_it_finds_when_python_starts(warm, folder):
    assert outcome(warm, ["program.py", "-x"], folder) == outcome(
        sys.executable, ["program.py", "-x"], folder
    )


@pytest.mark.parametrize("name", ENDINGS)
def test_it_ends_as_python_ends(name, warm, folder):
    ends = outcome(sys.executable, ENDINGS[name], folder)
    said = outcome(warm, ENDINGS[name], folder)
    assert said == ends


def test_what_torch_reads_once_is_read(warm, folder):
    text = "import os, torch; print(torch._dynamo.config.verbose, os.environ['OTHER'])"
    assert outcome(warm, ["-c", text], folder, OTHER="1")[1] == "False 1\n"
    assert outcome(warm, ["-c", text], folder, OTHER="2", TORCHDYNAMO_VERBOSE="1")[1] == "True 2\n"


def test_a_capture_begins_with_torchs_compiler(warm, folder):
    (folder / "work.py").write_text(
        "import torch\ntorch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))\n"
    )
    status, _, said = outcome(warm, ["-m", "pellucid", "run", "--out", "d", "work.py"], folder)
    assert (status, os.path.exists(folder / "d" / "session.json")) == (0, True), said
    assert said[0].startswith("Compiled    1 function")
