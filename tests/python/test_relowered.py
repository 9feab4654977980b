"""The second tier of validation: the tree is compiled by pellucid, so no interpreter is needed.

It must prove what recompiling proves, never anything that is different, and say where it has no
words. `tests/library/check_mutants.py --relowered` takes as many mutants as wanted.
"""

import json
import os
import subprocess
from typing import Tuple

import pytest
from case_pycs import pycs_of
from needs import ROOT, need
from pellucid import decompile_pyc
from pellucid.interpreters import find_interpreter
from test_cases import every_case, golden_of, holds, parts
from test_verify import PROVEN, comparison


@every_case
def test_a_case_is_proven_as_well_as_by_recompiling_it(version: str, name: str) -> None:
    golden = golden_of(name)
    if holds(golden, "open", version):
        pytest.skip("not recovered yet")
    result = decompile_pyc(pycs_of(version)[name])
    verdict = result.verify("relowered")
    assert verdict.tier == "relowered"
    if holds(golden, "relowering falls short", version):
        assert not verdict.at_least("equivalent"), "it no longer falls short"
        pytest.xfail("proven by recompiling only")
    reasons = [code.reason for code in verdict.codes if code.status == "unproven"]
    # What has no words yet, and temporaries, which neither tier accepts in a file.
    if all(r.startswith("relowering: ") or r.endswith(" is new") for r in reasons):
        return
    assert find_interpreter(parts(version)), str(verdict)
    assert not result.verify("recompiled").at_least("equivalent"), str(verdict)


def test_the_tier_is_the_one_asked_for() -> None:
    result = decompile_pyc(next(iter(pycs_of("3.8").values())))
    with pytest.raises(ValueError, match="not a tier"):
        result.verify("guessed")


def test_pinned_pairs_that_differ_are_not_proven(any_python: Tuple[str, str]) -> None:
    _, python = any_python
    script = str(ROOT / "tests" / "python" / "verify_cases.py")
    cases = subprocess.run([python, script], stdout=subprocess.PIPE, check=True).stdout
    asked = [json.loads(line) for line in cases.splitlines()]
    for case in asked:
        case["options"] += ",relowered"
    lines = "".join(json.dumps(case) + "\n" for case in asked).encode()
    answers = subprocess.run([comparison()], input=lines, stdout=subprocess.PIPE, check=True).stdout
    got = [json.loads(line) for line in answers.splitlines()]
    assert len(got) == len(asked)
    wrong = [
        case["title"]
        for case, answer in zip(asked, got)
        if answer["verdict"] in PROVEN and not case["title"].startswith("same:")
    ]
    assert wrong == []


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
def test_no_mutant_is_proven_equal(version: str) -> None:
    python = str(need(f"python{version}"))
    command = [
        python,
        str(ROOT / "tests" / "library" / "check_mutants.py"),
        "--binary",
        comparison(),
    ]
    command += ["--shared", str(need("shared")), "--functions", "8", "--relowered", "--only", "A"]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")
