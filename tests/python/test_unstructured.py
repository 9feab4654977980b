"""Bodies without structure: they must do what the original does.

`fuzz/python` and `tests/library/unstructured_library.py` do the same at length.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from needs import ROOT, VERSIONS, missing, need
from pellucid import decompile_pyc

PROGRAMS = sorted((Path(__file__).parent / "unstructured").glob("*.py"))


def output_of(python: str, path: Path) -> str:
    done = subprocess.run([python, str(path)], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_behaves_without_structure(program: Path, version: str, tmp_path: Path) -> None:
    python = str(need(f"python{version}"))
    binary = str(need("native"))
    since = re.search(r"^# since: 3\.(\d+)$", program.read_text(encoding="utf-8"), re.MULTILINE)
    if since and int(version.partition(".")[2]) < int(since.group(1)):
        return
    pyc, again = tmp_path / "program.pyc", tmp_path / "again.py"
    compile_it = f"import py_compile as p; p.compile({str(program)!r}, {str(pyc)!r}, doraise=True)"
    subprocess.run([python, "-c", compile_it], check=True)
    command = [binary, "decompile", "--no-verify", "--unstructured", str(pyc), "-o", str(again)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert output_of(python, again) == output_of(python, program)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="handlers are a table from 3.11 on")
@pytest.mark.parametrize("options", [[], ["--unstructured"]], ids=["search", "forced"])
def test_random_graphs_behave_when_forced(options: "list[str]") -> None:
    if importlib.util.find_spec("bytecode") is None:
        missing("the package bytecode")
    command = [sys.executable, str(ROOT / "fuzz" / "python"), "graphs", "--json"]
    command += ["--binary", str(need("native")), "--count", "60", *options]
    done = subprocess.run(command, capture_output=True, timeout=300)
    assert done.stdout, done.stderr.decode()
    assert json.loads(done.stdout)["failures"] == []


def test_a_comprehension_in_it_stays_one() -> None:
    pyc = ROOT / "tests" / "regress" / "comprehension_in_a_body_without_structure.pyc"
    source = decompile_pyc(pyc.read_bytes()).source
    assert "x = [i for i in d]" in source, source


@pytest.mark.parametrize("version", ["3.10", "3.11"])
def test_the_loop_over_a_state_is_no_loop_of_the_constants(version: str, tmp_path: Path) -> None:
    # The code has the constant 1 and no True, as where its endless loops were `while 1`.
    made = tmp_path / "one.py"
    made.write_text("def f(x):\n    while x:\n        x = g(x)\n    return 1\n")
    compile_it = f"import py_compile as p; p.compile({str(made)!r}, 'one.pyc', doraise=True)"
    subprocess.run([str(need(f"python{version}")), "-c", compile_it], cwd=tmp_path, check=True)
    command = [str(need("native")), "decompile", "--no-verify", "--unstructured", "one.pyc"]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    assert "while True:" in text and "while 1:" not in text, text


# What each was: code after a handler that never handles, an exception that a join passes on, a
# chain of stores to what stays on the stack, a value kept on one arm, a load after its store, a
# join that is raised as if it were handled, stores to values in turn (3.13), a tuple of one name,
# an exception that is stored in mid-clause, a loop that starts within a region, a loop that
# continues with another iterator, a block that loops onto itself like case after case, an iterator
# that more than its loop has, a value of a loop that is stored in mid-body.
ONCE_WRONG = [10278, 10642, 10746, 11295, 11409, 20008, 30119, 30320, 30829, 100106, 503500,
              701168, 756196, 800507, 906611, 1105054, 3100891, 3108638,
              6500443]  # fmt: skip


@pytest.mark.skipif(sys.version_info < (3, 11), reason="handlers are a table from 3.11 on")
@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_a_random_graph_that_came_out_wrong_behaves(seed: int) -> None:
    if importlib.util.find_spec("bytecode") is None:
        missing("the package bytecode")
    command = [sys.executable, str(ROOT / "fuzz" / "python"), "graphs", "--json"]
    command += ["--binary", str(need("native")), "--seed", str(seed), "--count", "1"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.stdout, done.stderr.decode()
    assert json.loads(done.stdout)["counts"] == {"same": 1}
