"""The PyTorch side on the pairs of the newest Pythons: the same tests, run by their interpreters.

A pair whose torch a newer Python has as well runs only what the Python decides: how frames are
compiled and read, and what debuggers, guards and imports do there. `make matrix` runs all of it.

Under CI `make test` makes these environments first; elsewhere they are there after `make matrix`,
which runs all the pairs.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List

import matrix
import pytest
from needs import ROOT, missing

# Where tests run side by side, so do the parts of a pair.
PARTS = 4
_HERE = Path(__file__)

OF_THE_PYTHON = [
    "bytecode_log",
    "calls",
    "capture",
    "corpus",
    "debug",
    "debugpy",
    "demo",
    "guard_text",
    "guards",
    "many_parameters",
    "optimization",
    "outcomes",
    "pure_parts",
    "readme_example",
    "saved",
    "schema",
    "shapes",
    "uncommon_frames",
]


def _number(python: str) -> List[int]:
    return [int(part) for part in python.split(".")]


def _files(pair: matrix.Pair) -> List[str]:
    """Return the files of tests that a pair runs."""
    newest = max(
        _number(other.python) for other in matrix.NEWEST_PAIRS if other.torch == pair.torch
    )
    if _number(pair.python) < newest:
        return [str(_HERE.with_name(f"test_{name}.py")) for name in OF_THE_PYTHON]
    return [str(path) for path in sorted(_HERE.parent.glob("test_*.py")) if path != _HERE]


def test_each_file_that_a_pair_runs_is_there_and_each_torch_runs_all_of_them() -> None:
    whole = {str(path) for path in _HERE.parent.glob("test_*.py")} - {str(_HERE)}
    assert whole
    for pair in matrix.NEWEST_PAIRS:
        assert set(_files(pair)) <= whole, pair
        assert len(_files(pair)) == len(set(_files(pair))), pair
        assert any(
            set(_files(other)) == whole
            for other in matrix.NEWEST_PAIRS
            if other.torch == pair.torch
        ), pair


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="runs in the main environment")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("pair", matrix.NEWEST_PAIRS, ids=str)
def test_the_torch_side_works_on_a_pair(pair: matrix.Pair, part: int) -> None:
    if pair.python == "{}.{}".format(*sys.version_info[:2]):
        pytest.skip("this is the main environment's Python")
    if not matrix.stamp_of(pair).exists():
        missing(f"Python {pair.python} with torch {pair.torch} (`make matrix`)")
    python = str(matrix.OUT / pair.python / "bin" / "python")
    files = _files(pair)[part::PARTS]
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, "PELLUCID_HOST": pair.python},
        check=False,
    )
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, text[-8000:]
    # An environment without torch would skip nearly everything.
    passed = re.search(r"(\d+) passed", text)
    assert passed is not None and int(passed.group(1)) > 20, text[-8000:]
    assert "needs torch" not in text, text[-8000:]
