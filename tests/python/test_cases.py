"""tests/cases: one feature a file. Each file is its own golden, on every version.

A case is compiled, decompiled and compared with itself as a syntax tree, so that layout and quotes
do not count; and pellucid must prove that its text means the same. `# since: 3.10` in a case says
where its syntax begins. One file alone: `pytest tests/python/test_cases.py -k NAME`.
"""

import ast
import difflib
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable, Tuple

import pytest
from needs import ROOT, VERSIONS, need
from pellucid import decompile_pyc
from py314 import python314

CASES = sorted((ROOT / "tests" / "cases").glob("*/*.py"))
_COMPILE = "import py_compile, sys; py_compile.compile(*sys.argv[1:], doraise=True, optimize=0)"
_DUMP = "import ast, sys; print(ast.dump(ast.parse(sys.stdin.buffer.read())))"


def parts(version: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_is_its_own_golden(case: Path, version: str, tmp_path: Path) -> None:
    source = source_of(case, version)
    target = tmp_path / "case.pyc"
    python = str(need(f"python{version}"))
    subprocess.run([python, "-I", "-c", _COMPILE, str(case), str(target)], check=True)
    result = decompile_pyc(target.read_bytes())
    compare(source, result.source, lambda text: tree_of(text, python))
    assert result.verdict.at_least("equivalent"), str(result.verdict)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_is_its_own_golden_on_3_14(case: Path) -> None:
    source = source_of(case, "3.14")
    python = python314()
    pyc = python.pyc(source)
    result = decompile_pyc(pyc)
    compare(source, result.source, python.tree)
    assert python.verdict(pyc, result.source) in ("identical", "equivalent")


def source_of(case: Path, version: str) -> str:
    """Return the text of a case; a version that its syntax is too new for ends the test."""
    source = case.read_text(encoding="utf-8")
    since = re.search(r"^# since: ([0-9.]+)$", source, re.MULTILINE)
    if since and parts(version) < parts(since.group(1)):
        pytest.skip(f"the syntax begins with {since.group(1)}")
    return source


def tree_of(source: str, python: str) -> str:
    """Return the dump of a syntax tree; the host parses what it can."""
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        text = source.encode("utf-8", "surrogatepass")
        done = subprocess.run(
            [python, "-I", "-c", _DUMP], input=text, stdout=subprocess.PIPE, check=True
        )
        return done.stdout.decode()


def compare(source: str, found: str, tree: "Callable[[str], str]") -> None:
    """End the test with the differences, if the texts have different trees."""
    if tree(found) != tree(source):
        lines = difflib.unified_diff(
            source.splitlines(), found.splitlines(), "the case", "decompiled", lineterm=""
        )
        pytest.fail("\n".join(lines), pytrace=False)
