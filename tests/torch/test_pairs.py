"""The PyTorch side on the pairs of the newest Pythons: the same tests, run by their interpreters.

Under CI `make test` makes these environments first; elsewhere they are there after `make matrix`,
which runs all the pairs.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import matrix
import pytest
from needs import ROOT, missing

# Where tests run side by side, so do the parts of a pair.
PARTS = 4
_HERE = Path(__file__)


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
    files = [str(path) for path in sorted(_HERE.parent.glob("test_*.py")) if path != _HERE]
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files[part::PARTS]],
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
