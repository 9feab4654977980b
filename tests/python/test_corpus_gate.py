"""Standard libraries: no share of what is proven falls below what was reached.

A sample of each library here; the whole of it is `make corpus`. After an improvement,
`python tools/corpus.py --sample 40 --gate tests/corpus_gate.json --raise-gate` raises the gate, and
so does `tools/as_written.py` for the functions, files and lines that are as they were written.
`tools/layout_judge.py` counts the statements whose columns contradict their nesting.
"""

import json
import subprocess
import sys

import pytest
from needs import ROOT, VERSIONS, need

GATE = ROOT / "tests" / "corpus_gate.json"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_proven_stays_proven(version: str) -> None:
    need(f"python{version}")
    keep_the_gate("corpus.py", version, "--reasons", "5")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_read_as_it_was_written_still_does(version: str) -> None:
    need(f"python{version}")
    need("python3.13")  # whose ast module folds constants
    keep_the_gate("as_written.py", version, "--worst", "5")


@pytest.mark.parametrize("version", VERSIONS[VERSIONS.index("3.11") :])
def test_no_more_statements_contradict_their_nesting(version: str) -> None:
    need(f"python{version}")
    keep_the_gate("layout_judge.py", version, "--show", "5")


def keep_the_gate(tool: str, version: str, *more: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / tool), version, *more]
    command += ["--sample", "40", "--gate", str(GATE)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")


def test_the_gate_knows_every_version() -> None:
    assert set(VERSIONS) <= set(json.loads(GATE.read_text()))
