"""tests/cases: one feature a file. Each file is its own golden, on every version.

A case is compiled, decompiled and compared with itself as a syntax tree, so that layout and quotes
do not count; and pellucid must prove that its text means the same. `# since: 3.10` in a case says
where its syntax begins, `# until: 3.8` where the bytecode last tells it from another form. One file
alone: `pytest tests/python/test_cases.py -k NAME`.
"""

import ast
import difflib
import re
import subprocess
import sys
from pathlib import Path
from typing import Tuple

import pytest
from needs import ROOT, VERSIONS, missing, need
from pellucid import decompile_pyc

CASES = sorted((ROOT / "tests" / "cases").glob("*/*.py"))
_COMPILE = "import py_compile, sys; py_compile.compile(*sys.argv[1:], doraise=True, optimize=0)"


def parts(version: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_is_its_own_golden(case: Path, version: str, tmp_path: Path) -> None:
    source = case.read_text(encoding="utf-8")
    since = re.search(r"^# since: ([0-9.]+)$", source, re.MULTILINE)
    if since and parts(version) < parts(since.group(1)):
        pytest.skip(f"the syntax begins with {since.group(1)}")
    if since and sys.version_info[:2] < parts(since.group(1)):
        missing(f"a host that can parse the syntax of {since.group(1)}")
    until = re.search(r"^# until: ([0-9.]+)$", source, re.MULTILINE)
    if until and parts(version) > parts(until.group(1)):
        pytest.skip(f"later versions than {until.group(1)} compile it as something else")
    target = tmp_path / "case.pyc"
    python = need(f"python{version}")
    subprocess.run([str(python), "-I", "-c", _COMPILE, str(case), str(target)], check=True)
    result = decompile_pyc(target.read_bytes())
    if ast.dump(ast.parse(result.source)) != ast.dump(ast.parse(source)):
        lines = difflib.unified_diff(
            source.splitlines(), result.source.splitlines(), "the case", "decompiled", lineterm=""
        )
        pytest.fail("\n".join(lines), pytrace=False)
    assert result.verdict.at_least("equivalent"), str(result.verdict)
