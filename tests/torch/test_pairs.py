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
PARTS = 4
# What these ask of torch, other files ask as well: they are about processes, dumps and debuggers,
# take half of the time, and run in the main environment. `make matrix` runs them on every pair.
OF_THE_MAIN_ENVIRONMENT = [
    "debugpy",
    "diff",
    "draws",
    "examples",
    "find_difference",
    "gallery",
    "launch",
    "models",
    "notebook",
    "pairs",
    "processes",
    "progress",
    "ranks",
    "reports",
]
FILES = {path.stem[len("test_") :]: str(path) for path in Path(__file__).parent.glob("test_*.py")}
NAMES = sorted(FILES.keys() - set(OF_THE_MAIN_ENVIRONMENT))


def test_what_the_newest_pair_leaves_out_is_there() -> None:
    assert set(OF_THE_MAIN_ENVIRONMENT) < FILES.keys()


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
    files = [FILES[name] for name in NAMES[part::PARTS]]
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
