"""The command line: what it prints where, what it writes, and its exit status."""

import importlib.util
import json
import marshal
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = "import os\n\ndef f(x):\n    return os.path.join(x, 'y')\n"


def run(*arguments: Any, cwd: Any = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pellucid", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        check=False,
    )


@pytest.fixture
def pyc(tmp_path: Path) -> Path:
    path = tmp_path / "tree" / "deep" / "small.pyc"
    path.parent.mkdir(parents=True)
    code = compile(SOURCE, "small.py", "exec", dont_inherit=True)
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    return path


def test_the_source_goes_to_standard_output(pyc: Path) -> None:
    done = run("decompile", pyc)
    assert (done.returncode, done.stderr) == (0, "")
    assert "return os.path.join(x, 'y')" in done.stdout


def test_verify_says_the_verdict(pyc: Path) -> None:
    done = run("decompile", pyc, "--verify")
    assert done.returncode == 0, done.stderr
    assert done.stderr in (f"pellucid: {pyc}: identical\n", f"pellucid: {pyc}: equivalent\n")


def test_a_folder_is_mirrored(pyc: Path, tmp_path: Path) -> None:
    done = run("decompile", tmp_path / "tree", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "def f(x):" in (tmp_path / "out" / "deep" / "small.py").read_text()
    assert [p.name for p in (tmp_path / "out" / "deep").iterdir()] == ["small.py"]


def test_a_bad_file_among_good_ones_costs_only_itself(pyc: Path, tmp_path: Path) -> None:
    bad = pyc.with_name("bad.pyc")
    bad.write_bytes(b"")
    done = run("decompile", tmp_path / "tree", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.count("pellucid: ") == 1
    assert str(bad) in done.stderr.splitlines()[0]
    assert (tmp_path / "out" / "deep" / "small.py").exists()


def test_json_has_a_line_a_file(pyc: Path) -> None:
    done = run("decompile", pyc, "--json", "--verify")
    (line,) = done.stdout.splitlines()
    said = json.loads(line)
    assert said["file"] == str(pyc)
    assert said["error"] is None
    assert said["verdict"] in ("identical", "equivalent")
    assert "def f(x):" in said["source"]


def test_dis_shows_blocks(pyc: Path) -> None:
    done = run("dis", pyc)
    assert done.returncode == 0, done.stderr
    assert "os" in done.stdout


def test_a_reader_that_leaves_early_causes_no_traceback(pyc: Path) -> None:
    script = f"{sys.executable} -m pellucid dis {' '.join([str(pyc)] * 50)} | head -1"
    done = subprocess.run(
        ["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
    )
    assert b"Traceback" not in done.stderr


def test_wrong_usage_is_status_two() -> None:
    assert run("nonsense").returncode == 2
    assert run().returncode == 2


def test_the_version_is_said() -> None:
    import pellucid

    assert run("--version").stdout == f"pellucid {pellucid.__version__}\n"


def test_nothing_of_a_pyc_is_executed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    code = compile(f"open({os.fspath(trace)!r}, 'w')", "evil.py", "exec")
    path = tmp_path / "evil.pyc"
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    assert run("decompile", path, "--verify").returncode == 0
    assert not trace.exists()
