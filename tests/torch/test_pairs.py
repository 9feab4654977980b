"""The PyTorch side on the other pinned pair: the same tests, run by its own interpreter.

`make test` makes the environment where that Python is; `make matrix` runs all the pairs.
"""

import os
import subprocess

import pytest
from needs import ROOT, missing

PAIR = "3.13+2.15.0"
# What depends on the versions most, in a share of the time that all of it takes.
_PARTS = ["test_readme_example.py", "test_capture.py", "test_depyf_names.py", "test_debugpy.py"]


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="runs in the main environment")
def test_the_torch_side_works_on_the_other_pair() -> None:
    version, torch = PAIR.split("+")
    folder = ROOT / "build" / "matrix" / version
    if not (folder / f"torch-{torch}").exists():
        missing(f"torch {torch} for Python {version}")
    parts = [str(ROOT / "tests" / "torch" / part) for part in _PARTS]
    done = subprocess.run(
        [str(folder / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *parts],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, "PELLUCID_HOST": version},
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-8000:]
