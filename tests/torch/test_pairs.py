"""The PyTorch side on the newest pair of Python and torch: the same tests, run by its interpreter.

`make matrix` runs them on every pair. Under CI `make test` makes the environment of the newest one
first; elsewhere it is there after `make matrix`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import matrix
import pytest
from needs import ROOT, missing

# Where tests run side by side, so do the parts.
PARTS = 2
# What a new torch or a new Python decides: frames, guards, graphs, and where torch keeps them.
# The other files run in the main environment; `make matrix` runs all of them on every pair.
NAMES = [
    "canary_of_torch",
    "capture",
    "corpus",
    "graph_stages",
    "guard_text",
    "guards",
    "outcomes",
    "uncommon_frames",
]
FILES = [str(Path(__file__).with_name(f"test_{name}.py")) for name in NAMES]


def test_each_file_that_the_newest_pair_runs_is_there() -> None:
    assert [file for file in FILES if not Path(file).exists()] == []


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="runs in the main environment")
@pytest.mark.parametrize("part", range(PARTS))
def test_the_torch_side_works_on_the_newest_pair(part: int) -> None:
    pair = matrix.NEWEST
    if pair.python == "{}.{}".format(*sys.version_info[:2]):
        pytest.skip("this is the main environment's Python")
    if not matrix.stamp_of(pair).exists():
        missing(f"Python {pair.python} with torch {pair.torch} (`make matrix`)")
    python = str(matrix.OUT / pair.python / "bin" / "python")
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES[part::PARTS]],
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
