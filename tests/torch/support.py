"""What the tests of the PyTorch side call, beside the fixtures of conftest.py."""

import os
import sys
from pathlib import Path
from typing import Dict, Tuple

import warm

PROGRAMS = Path(__file__).resolve().parent / "programs"


def compiles(path: Path) -> str:
    """Return why a dumped file is no valid Python; empty when it is."""
    try:
        compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"{path.name}: {error}"
    return ""


def run_env() -> Dict[str, str]:
    """The environment of a program that a test starts: it finds what the test finds."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def warm_python() -> str:
    """A Python that need not import torch again (tests/lib/warm.py), for what `run_env` says."""
    return warm.python(run_env())


def torch_version() -> Tuple[int, int]:
    """The installed torch, as a pair that compares."""
    import torch

    major, minor = str(torch.__version__).split(".")[:2]
    return int(major), int(minor)
