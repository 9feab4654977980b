"""Every example runs to its end without a terminal."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import run_env

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, torch, tmp_path):
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env={**run_env(), "TORCH_LOGS": "+bytecode"},
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
