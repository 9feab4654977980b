"""launch.json starts the captured program in a debugger that stops in the dumped files."""

import json
import subprocess
from pathlib import Path

from dap import debugged
from needs import need
from support import run_env, warm_python

PROGRAM = """\
import sys
import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


print(doubled(torch.ones(3)), sys.argv[1:])
"""


def captured(folder: Path, *command: str, **variables: str) -> dict:
    """Run a program that is captured into folder/dump; return what its launch.json says."""
    done = subprocess.run(
        [warm_python(), *command],
        cwd=folder,
        env={**run_env(), "PELLUCID_DUMP": str(folder / "dump"), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "dump" / "launch.json").read_text())


def test_a_debugger_that_it_starts_stops_in_a_dumped_file(torch, tmp_path):
    need("debugpy")
    (tmp_path / "train.py").write_text(PROGRAM)
    start, attach = captured(tmp_path, "train.py", "--steps", "3")["configurations"]
    assert start["name"] == "pellucid: run train.py" and start["request"] == "launch"
    assert start["program"] == str(tmp_path / "train.py") and start["args"] == ["--steps", "3"]
    assert attach["request"] == "attach" and attach["connect"]["port"] == 5678
    assert {start["justMyCode"], attach["justMyCode"]} == {False}
    file = tmp_path / "dump" / "__transformed_code_0_0_for_doubled.py"
    lines = file.read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(lines) if "__compiled_fn_0_0" in text)
    output = tmp_path / "stdout.txt"
    with output.open("w") as stdout, debugged(
        [start["program"], *start["args"]],
        cwd=start["cwd"],
        env={**run_env(), **start["env"]},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
    ) as (client, process):
        client.attach(lambda: client.breakpoints(file, [line]))
        thread, stack = client.stopped()
        assert stack[0][:2] == (str(file), line)
        assert "x" in client.variables(stack[0][2])
        client.request("continue", threadId=thread)
        client.event("terminated")
        process.wait(timeout=60)
    assert "['--steps', '3']" in output.read_text()


def test_a_module_is_started_as_one(torch, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__main__.py").write_text(PROGRAM)
    start = captured(tmp_path, "-m", "package")["configurations"][0]
    assert (start["module"], start["args"]) == ("package", [])
    assert "program" not in start
    assert start["env"]["PELLUCID_DUMP"] == str(tmp_path / "dump")


def test_a_program_that_captures_itself_is_not_captured_twice(torch, dynamo, tmp_path):
    import pellucid

    with pellucid.prepare_debug(tmp_path / "dump"):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    told = json.loads((tmp_path / "dump" / "launch.json").read_text())
    assert all("PELLUCID_DUMP" not in each.get("env", {}) for each in told["configurations"])
