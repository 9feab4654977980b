"""verify::compare, the oracle of the project, against pinned pairs and an independent judge.

The pairs are in tests/cases/verify. What the judge of the shared folder tells apart must never be
proven equal: a sample of its mutants runs here, `tests/library/check_mutants.py` takes as many as
wanted.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Tuple

import pytest
from needs import ROOT, missing, need

PROVEN = ("identical", "equivalent")


def comparison() -> str:
    """Return the path of the native comparison, or end the test."""
    binary = Path(need("native")).parent / "pellucid_verify_pairs"
    if not binary.exists():
        missing(str(binary.relative_to(ROOT)))
    return str(binary)


def test_pinned_pairs_are_told_apart_or_proven(any_python: Tuple[str, str]) -> None:
    _, python = any_python
    script = str(ROOT / "tests" / "python" / "verify_cases.py")
    cases = subprocess.run([python, script], stdout=subprocess.PIPE, check=True).stdout
    answers = subprocess.run([comparison()], input=cases, stdout=subprocess.PIPE, check=True).stdout
    pairs = list(zip(cases.splitlines(), answers.splitlines()))
    assert len(pairs) == len(cases.splitlines()) > 80
    wrong = []
    for case, answer in pairs:
        asked, got = json.loads(case), json.loads(answer)
        if (got["verdict"] in PROVEN) != asked["title"].startswith("same:"):
            wrong.append((asked["title"], got["verdict"], [c["reason"] for c in got["codes"]]))
    assert wrong == []


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
def test_no_mutant_is_proven_equal(version: str) -> None:
    python = str(need(f"python{version}"))
    shared = str(need("shared"))
    command = [
        python,
        str(ROOT / "tests" / "library" / "check_mutants.py"),
        "--binary",
        comparison(),
    ]
    command += ["--shared", shared, "--functions", "8", "--modules", "8"]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")
