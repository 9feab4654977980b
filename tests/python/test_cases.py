"""tests/cases: one feature a file. Each file is its own golden, on every version.

A case is compiled, decompiled and compared with itself as a syntax tree, so that layout and quotes
do not count; and pellucid must prove that its text means the same. The compiled cases of every
version are checked in (tests/cases/pyc, an archive per version, made by tools/case_pycs.py), so no
other interpreter is needed for the first; the proof is left out where there is none.

Comments of a case say more: `# since: 3.10` where its syntax begins; `# optimize: 2` what it is
compiled with, lines that end in `# dropped by -O` being gone then; `# reads otherwise: 3.8 3.12`
where other statements make the same code, so that only the proof counts (`3.12+`: from 3.12 on);
`# open: 3.12` where it is not done yet and `# relowering falls short: 3.12` where only recompiling
proves it: both fail when it is done. One file alone: `pytest tests/python/test_cases.py -k NAME`.
"""

import ast
import difflib
import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import List, Tuple

import pytest
from case_pycs import CASES, pycs_of
from needs import ROOT, VERSIONS, missing
from pellucid import decompile_pyc
from pellucid.interpreters import find_interpreter

every_case = pytest.mark.parametrize(
    ("version", "name"),
    [
        pytest.param(version, name, id=f"{version}-{name.replace('/', '-')}")
        for version in VERSIONS
        for name in pycs_of(version)
    ],
)
# Answers for as long as it is asked: a source a line, and whether there is a tree, and that or why.
_TREES = """
import ast, json, sys
for line in sys.stdin:
    try:
        answer = [True, ast.dump(ast.parse(json.loads(line)))]
    except Exception as error:
        answer = [False, repr(error)]
    print(json.dumps(answer), flush=True)
"""


def parts(version: str) -> Tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)


def said(source: str, name: str) -> str:
    found = re.search(rf"^# {name}: (.+)$", source, re.MULTILINE)
    return found.group(1) if found else ""


def holds(source: str, name: str, version: str) -> bool:
    """Return true if a comment names the version, or with a + one from which on it holds."""
    named = said(source, name).split()
    from_there_on = [parts(each[:-1]) for each in named if each.endswith("+")]
    return version in named or any(since <= parts(version) for since in from_there_on)


def golden_of(name: str) -> str:
    """Return the text that is wanted: the case, or what -O leaves of it."""
    source = (CASES / f"{name}.py").read_text(encoding="utf-8")
    if not said(source, "optimize"):
        return source
    lines = source.splitlines(keepends=True)
    return "".join(line for line in lines if not line.endswith("# dropped by -O\n"))


@functools.lru_cache(maxsize=None)
def parser(python: Path) -> "subprocess.Popen[str]":
    """Start an interpreter that parses one source after the other; it ends with this process."""
    command = [str(python), "-I", "-c", _TREES]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1
    )


# Versions share their goldens, and mostly what is decompiled.
@functools.lru_cache(maxsize=None)
def tree_of(source: str, since: str) -> str:
    """Return the syntax tree as text, from a Python that knows the syntax."""
    wanted = parts(since or "3.8")
    if wanted <= sys.version_info[:2]:
        return ast.dump(ast.parse(source))
    for version in VERSIONS:
        python = find_interpreter(parts(version)) if parts(version) >= wanted else None
        if python:
            asked = parser(python)
            assert asked.stdin is not None and asked.stdout is not None
            asked.stdin.write(json.dumps(source) + "\n")
            line = asked.stdout.readline()
            if not line:
                parser.cache_clear()
            assert line, f"Python {version} ended on\n{source}"
            parsed, answer = json.loads(line)
            assert parsed, f"{answer}\n{source}"
            return str(answer)
    missing(f"a Python that can parse the syntax of {since}")


def difference(golden: str, source: str) -> str:
    lines = difflib.unified_diff(
        golden.splitlines(), source.splitlines(), "the case", "decompiled", lineterm=""
    )
    return "\n".join(lines)


@every_case
def test_a_case_is_its_own_golden(version: str, name: str, request: pytest.FixtureRequest) -> None:
    golden = golden_of(name)
    if holds(golden, "open", version):
        request.node.add_marker(pytest.mark.xfail(reason=said(golden, "open"), strict=True))
    result = decompile_pyc(pycs_of(version)[name])
    assert not result.diagnostics, result.source
    if not holds(golden, "reads otherwise", version):
        since = said(golden, "since")
        same = tree_of(result.source, since) == tree_of(golden, since)
        assert same, difference(golden, result.source)
    if find_interpreter(parts(version)):
        assert result.verdict.at_least("equivalent"), f"{result.verdict}\n{result.source}"


def test_the_checked_in_pycs_are_those_of_the_cases() -> None:
    """CI has every interpreter, so nothing can drift unseen; elsewhere those found are asked."""
    command: List[str] = [sys.executable, str(ROOT / "tools" / "case_pycs.py"), "--check"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stdout.decode()
    if b"skipped" in done.stdout:
        missing(done.stdout.decode().strip().splitlines()[0])
