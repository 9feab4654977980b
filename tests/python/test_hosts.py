"""The Python face on every host Python: the same tests, run by each interpreter.

`make test` installs pellucid for the Pythons it finds, below build/hosts.
"""

import os
import subprocess
import sys

import pytest
from needs import ROOT, VERSIONS, missing

_PARTS = [
    "test_api.py",
    "test_live_objects.py",
    "test_recompile.py",
    "test_generated_code.py",
    "test_command_line.py",
]
_OTHERS = [v for v in VERSIONS if v != "{}.{}".format(*sys.version_info[:2])]


@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="runs in the main environment")
@pytest.mark.parametrize("version", _OTHERS)
def test_the_python_face_works_on(version: str) -> None:
    python = ROOT / "build" / "hosts" / version / "bin" / "python"
    if not python.exists():
        missing(f"pellucid installed for Python {version}")
    parts = [str(ROOT / "tests" / "python" / part) for part in _PARTS]
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *parts],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, "PELLUCID_HOST": version},
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-8000:]
