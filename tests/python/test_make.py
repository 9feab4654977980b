"""`make test` sets up what is missing, in two rows; programs here only write down their calls."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Dict, List, Tuple

import pytest
from needs import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")

# Fails at the words that FAIL names, and takes long enough for a second one to come in between.
PROGRAM = """#!/bin/sh
[ "$1" = -c ] && echo 3.12 && exit
echo "begin ${0##*/} $*" >> "$CALLS"
sleep 0.1
echo "end ${0##*/} $*" >> "$CALLS"
case "$*" in *"$FAIL"*) echo "$FAIL: no luck" >&2; exit 1;; esac
case "$*" in
  *newest.py) [ -e build/newest/.stamp ] || : > build/newest/.stamp;;
  *index.html) : > "$3";;
esac
"""


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PROGRAM, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder that has no more of this project than the Makefile asks for."""
    shutil.copy(str(ROOT / "Makefile"), str(tmp_path))
    names = ["CMakeLists.txt", "pyproject.toml", "tests/torch/requirements.txt"]
    tools = ("build", "extras", "hosts", "matrix", "get_torch", "hollow")
    names += [f"tools/{name}.py" for name in tools]
    names += ["tools/get_emscripten.py", "tools/debian.py", "web/page/package-lock.json"]
    names += ["build/emscripten/env.sh"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    for name in ("python", "cmake", "emcmake", "npm", "node"):
        program(tmp_path / ".venv" / "bin" / name)
    for folder in (".venv/stamps", "web/page/node_modules"):
        (tmp_path / folder).mkdir()
    # What the programs would make.
    for folder in ("make", "asan", "hosts", "newest", "web/page"):
        (tmp_path / "build" / folder).mkdir(parents=True)
    return tmp_path


def make(
    tree: Path, *words: str, fail: str = "nothing at all", ci: bool = False
) -> Tuple[int, str, List[str]]:
    """Run make; return its exit code, what it said, and the calls that it made."""
    calls = tree / "calls.txt"
    calls.write_text("", encoding="utf-8")
    own = (
        "CI",
        "MAKEFLAGS",
        "MFLAGS",
        "MAKELEVEL",
        "MAKEOVERRIDES",
        "SIDE_BY_SIDE",
        "VENV",
        "ROWS",
    )
    own += ("PIP_NO_COMPILE", "PYTHONDONTWRITEBYTECODE")
    env: Dict[str, str] = {k: v for k, v in os.environ.items() if k not in own}
    env.update(CALLS=str(calls), FAIL=fail, **({"CI": "true"} if ci else {}))
    python = tree / ".venv" / "bin" / "python"
    command = ["make", f"PYTHON={python}", "TORCH=torch", *words]
    done = subprocess.run(
        command, cwd=tree, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, done.stdout, calls.read_text(encoding="utf-8").splitlines()


def at_once(calls: List[str], what: str) -> int:
    """Return how many calls with a word ran at the same time, at most."""
    most = now = 0
    for call in calls:
        if what in call:
            now += 1 if call.startswith("begin") else -1
            most = max(most, now)
    return most


@pytest.mark.parametrize("ci", [False, True], ids=["user", "ci"])
@pytest.mark.parametrize("words", [["test"], ["-j", "test"]], ids=" ".join)
def test_rows_run_side_by_side_and_no_two_pips(tree: Path, words: List[str], ci: bool) -> None:
    status, said, calls = make(tree, *words, ci=ci)
    assert status == 0, said
    assert "warning" not in said
    assert at_once(calls, " -m pip ") == 1
    # The one torch is installed by a program that calls pip too.
    assert at_once([c for c in calls if " -m pip " in c or "get_torch" in c], "python") == 1
    assert at_once(calls, "") >= 2
    assert " -m pytest" in calls[-1]
    assert any("patchelf" in call for call in calls) == ci
    assert any("matrix.py" in call for call in calls) == ci
    status, said, calls = make(tree, *words, ci=ci)
    assert status == 0, said
    again = [call for call in calls if "newest.py" not in call]
    assert [c.split()[1:4] for c in again] == [["python", "-m", "pytest"]] * 2
    assert "up to date" not in said


@pytest.mark.parametrize("words", [["demo"], ["-j4", "demo"]], ids=" ".join)
def test_the_demo_compiles_while_torch_is_installed(tree: Path, words: List[str]) -> None:
    status, said, calls = make(tree, *words)
    assert status == 0, said
    assert at_once(calls, "") == 2
    # Compiling installs nothing; the wheel that it leaves is installed when no other pip runs.
    assert at_once([c for c in calls if " -m pip " in c or "get_torch" in c], "python") == 1
    assert not any("build.py cmake" in call for call in calls), "tests are not built"
    assert "-m pellucid demo" in calls[-1]


@pytest.mark.parametrize(
    "words", [["test"], pytest.param(["-j4", "test"], marks=pytest.mark.thorough)], ids=" ".join
)
@pytest.mark.parametrize(
    "fail, stamp",
    [
        ("build.py cmake build/asan", "build/asan/.stamp"),
        ("build.py cmake build/make", "build/make/.native"),
        ("tools/hosts.py", "build/hosts/.stamp"),
        ("tools/get_torch.py torch", ".venv/stamps/torch"),
        ("build.py package", "build/make/.compiled"),
        (".whl", "build/make/.stamp"),
    ],
)
def test_what_fails_in_a_row_is_said_and_done_again(
    tree: Path, words: List[str], fail: str, stamp: str
) -> None:
    status, said, calls = make(tree, *words, fail=fail)
    assert status != 0
    assert f"{fail}: no luck" in said
    assert not (tree / stamp).exists()
    assert not any("pytest" in call for call in calls)
    status, said, calls = make(tree, *words)
    assert status == 0, said
    assert any(fail in call for call in calls)
    assert (tree / stamp).exists()


def test_what_a_user_has_set_for_pip_and_python_is_left_alone(tree: Path) -> None:
    shown = "$(origin PIP_NO_COMPILE) $(origin PYTHONDONTWRITEBYTECODE)"
    for ci, expected in ((False, "undefined undefined"), (True, "file file")):
        status, said, _ = make(tree, "--eval", f"shown:; @echo '{shown}'", "shown", ci=ci)
        assert (status, said.strip()) == (0, expected)
