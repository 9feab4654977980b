"""What the tests share: `need`, and where interpreters, binaries and corpora are.

A test that needs something from outside (another interpreter, node, torch, the shared corpora)
asks `need` for it. On a user's machine the test is skipped with the reason; where CI is set it
fails, so that a missing set-up step cannot pass for a green run.
"""

import importlib.util
import os
import shutil
from pathlib import Path
from typing import NoReturn, Union

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]
# 3.14 is the WebAssembly build: slow to start, and it cannot start processes of its own.
ALL_VERSIONS = [*VERSIONS, "3.14"]


if shutil.which("node") and (ROOT / "build" / "node" / "node_modules" / "pyodide").exists():
    os.environ.setdefault("PELLUCID_PYTHON_3_14", str(ROOT / "tests" / "node" / "python3.14"))


def missing(what: str) -> NoReturn:
    """Skip the running test because `what` is missing, or fail it where CI is set."""
    if os.environ.get("CI"):
        pytest.fail(f"CI lacks {what}", pytrace=False)
    pytest.skip(f"needs {what}")


def need(what: str) -> Union[Path, str]:
    """Return what a test needs, or end the test.

    `what` is "python3.9" (an interpreter; "python3.14" needs node), "torch" or any module, "node",
    "pyodide" (CPython 3.14), "native" (the native binary), "asan" (the same under the sanitizers),
    "stages" (pellucid_tests) or "shared" (the folder of corpora beside the repository).
    """
    found = _find(what)
    if found is None:
        missing(what)
    return found


def _find(what: str) -> "Union[Path, str, None]":
    fixed = {
        "native": ROOT / "build" / "make" / "pellucid",
        "stages": ROOT / "build" / "make" / "pellucid_tests",
        "asan": ROOT / "build" / "asan" / "pellucid",
        "pyodide": ROOT / "build" / "node" / "node_modules" / "pyodide",
        "shared": Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared")),
    }
    if what in fixed:
        return fixed[what] if fixed[what].exists() else None
    if what.startswith("python3."):
        from pellucid.interpreters import find_interpreter

        major, minor = what[len("python") :].split(".")
        return find_interpreter((int(major), int(minor)))
    if what == "node":
        return shutil.which("node")
    return what if importlib.util.find_spec(what) is not None else None
