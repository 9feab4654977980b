"""tests/regress: each bug left a smallest program, which must not fail again.

`tools/minimize.py` makes them; `# python: 3.12` says which version it failed on. A `.pyc` there is
code that no source text gives.
"""

import re
import subprocess
from pathlib import Path

import oracle
import pytest
from needs import ROOT, need
from pellucid import decompile_pyc

REGRESS = ROOT / "tests" / "regress"


@pytest.mark.parametrize("path", sorted(REGRESS.glob("*.py")), ids=lambda p: p.stem)
def test_it_does_not_fail_again(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    named = re.search(r"^# python: (.+)$", source, re.MULTILINE)
    for version in named.group(1).split() if named else oracle.VERSIONS:
        need(f"python{version}")
        failure = oracle.failure_of(oracle.pyc_of(source, version))
        assert failure is None, f"{version}: {failure}"


@pytest.mark.parametrize("path", sorted(REGRESS.glob("*.pyc")), ids=lambda p: p.stem)
def test_its_code_is_recovered(path: Path) -> None:
    pyc = path.read_bytes()
    failure = oracle.failure_of(pyc)
    assert failure is None or failure.kind == "unproven", failure
    told = [each.message for each in decompile_pyc(pyc).diagnostics]
    assert "without_structure" in path.stem or not told, told


# Those that say when they run what they do.
PROGRAMS = ["stores_of_what_a_loop_or_a_with_gives"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_its_text_does_the_same(name: str, tmp_path: Path) -> None:
    path, again = REGRESS / f"{name}.pyc", tmp_path / "again.py"
    found = decompile_pyc(path.read_bytes())
    again.write_text(found.source, encoding="utf-8")
    python = need("python" + ".".join(map(str, found.version)))
    said = [
        subprocess.run([str(python), str(each)], capture_output=True, text=True, check=True)
        for each in (path, again)
    ]
    assert said[0].stdout and said[1].stdout == said[0].stdout
