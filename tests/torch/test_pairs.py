"""The PyTorch side on the other pinned pair: the same tests, run by its own interpreter.

Under CI `make test` makes that environment first; elsewhere it is there after `make matrix`, which
runs all the pairs.
"""

import os
import re
import subprocess

import pytest
from needs import ROOT, missing

PAIR = "3.13+2.15.0"


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="runs in the main environment")
def test_the_torch_side_works_on_the_other_pair() -> None:
    version, torch = PAIR.split("+")
    folder = ROOT / "build" / "matrix" / version
    if not (folder / f"torch-{torch}").exists():
        missing(f"Python {version} with torch {torch} (`make matrix`)")
    python, tests = str(folder / "bin" / "python"), str(ROOT / "tests" / "torch")
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, "PELLUCID_HOST": version},
        check=False,
    )
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, text[-8000:]
    # An environment without torch would skip everything.
    passed = re.search(r"(\d+) passed", text)
    assert passed is not None and int(passed.group(1)) > 100, text[-8000:]
