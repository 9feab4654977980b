"""The bench over a standard library takes what is there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from needs import ROOT, need

sys.path.insert(0, str(ROOT / "bench"))

from bench_library import VERSION, compiled, sources_of


def test_a_source_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    library, folder = tmp_path / "library", tmp_path / "compiled"
    library.mkdir()
    folder.mkdir()
    (library / "a.py").write_text("x = 1\n", encoding="utf-8")
    (library / "b.py").symlink_to(tmp_path / "not_installed.py")
    found = compiled(sources_of(library), folder)
    assert [path.name for path in found] == ["0.pyc"]


def test_two_binaries_stand_beside_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(x):\n    return x + 1\n", encoding="utf-8")
    binary = str(need("native"))
    command = [sys.executable, str(ROOT / "bench" / "bench_library.py"), "--runs", "1"]
    command += ["--library", str(tmp_path), "--binary", binary, "--against", binary]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    said = done.stdout
    assert re.search(r"library   1 files of 3\.\d+, least of 1 runs: compile\(\) \d", said)
    assert re.search(r"library    +before +now +bar", said)
    rows = re.findall(r"library   ([^\d\n]+?) +[\d.]+ +[\d.]+ +([\d.]+)(?:  missed)?\n", said)
    assert ("decompile --no-verify, of compile()", "0.28") in rows
    assert ("decompile, of compile()", "0.42") in rows
    assert done.returncode == (1 if "missed" in said else 0)


def test_pycdc_is_compared_by_one_process_per_file_that_it_completes(tmp_path: Path) -> None:
    pycdc = tmp_path / "bin" / "pycdc"
    pycdc.parent.mkdir()
    pycdc.write_text(
        '#!/bin/sh\ngrep -q partly "$1" && echo "# WARNING: Decompyle incomplete"; :\n'
    )
    pycdc.chmod(0o755)
    library = tmp_path / "library"
    library.mkdir()
    for name in ("all", "partly"):
        (library / f"{name}.py").write_text(f"x = '{name}'\n", encoding="utf-8")
    command = [sys.executable, str(ROOT / "bench" / "bench_library.py"), "--runs", "1"]
    command += ["--library", str(library), "--binary", str(need("native"))]
    path = f"{pycdc.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, "PATH": path}
    )
    assert "one process per file, 1 of 2 files, which pycdc completes\n" in done.stdout
    assert re.search(r"decompile --no-verify, of pycdc +\d+\.\d\d +1\.00 ", done.stdout)
    assert re.search(r"decompile --verify, of pycdc +\d+\.\d\d +1\.20 ", done.stdout)


@pytest.mark.parametrize("form", [["--python", VERSION], [f"--python={VERSION}"]], ids=len)
def test_it_runs_once_under_each_interpreter_that_was_asked_for_last(
    form: List[str], tmp_path: Path
) -> None:
    library = tmp_path / "3.11"
    library.mkdir()
    (library / "a.py").write_text("x = 1\n", encoding="utf-8")
    command = [sys.executable, str(ROOT / "bench" / "bench_library.py"), "--python", "3.11", "3.15"]
    command += ["--library", str(library), "--runs", "1", "--binary", str(need("native")), *form]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300)
    assert re.findall(r"(\d+) files of (3\.\d+)", done.stdout) == [("1", VERSION)]
