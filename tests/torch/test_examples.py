"""Every example runs to its end without a terminal."""

import subprocess
from pathlib import Path

import pytest
from support import run_env, torch_version, warm_python

FOLDER = Path(__file__).resolve().parents[2] / "examples"
AGENT = FOLDER / "follow_explain.py"
EXAMPLES = sorted({*FOLDER.glob("*.py")} - {AGENT})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, torch, tmp_path):
    done = subprocess.run(
        [warm_python(), str(example)],
        cwd=tmp_path,
        env={**run_env(), **({"TORCH_LOGS": "+bytecode"} if "log" in example.stem else {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = {
        "readme_example": "start reading at pellucid_toy/index.md",
        "why_did_it_recompile": "[0/1]",
        "bytecode_log": "DECOMPILED BYTECODE f ",
    }
    assert expected[example.stem] in done.stdout + done.stderr


def test_an_agent_that_follows_explain_fixes_three_programs(torch, tmp_path):
    """The programs are fixed from the JSON alone: no finding is left, and results stay equal."""
    if torch_version() < (2, 6):
        pytest.skip("older releases do not say enough of a break for a remedy to be tried")
    command = [warm_python(), str(AGENT)]
    options = {"cwd": tmp_path, "env": run_env(), "capture_output": True, "text": True}
    done = subprocess.run(command, **options, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    counts = [line.strip() for line in done.stdout.splitlines() if "breaks: " in line]
    whole = "breaks: 0, recompiles: 0"
    assert counts == [
        *("breaks: 1, recompiles: 0", whole),
        *("breaks: 1, recompiles: 0", whole),
        *("breaks: 2, recompiles: 1", whole),
    ], done.stdout
    assert "torch.where" in done.stdout and "capture_scalar_outputs" in done.stdout
