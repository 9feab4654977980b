# SPDX-License-Identifier: Apache-2.0
"""What the tests share: `need`, and where interpreters, binaries and corpora are.

A test that needs something from outside (another interpreter, torch, the shared corpora) asks
`need` for it. On a user's machine the test is skipped with the reason; where CI is set it fails, so
that a missing set-up step cannot pass for a green run.
"""

import importlib.util
import os
import shutil
from pathlib import Path
from typing import NoReturn, Union

import pytest
from pythons import ROOT as ROOT
from pythons import VERSIONS as VERSIONS


def missing(what: str) -> NoReturn:
    """Skip the running test because `what` is missing, or fail it where CI is set."""
    if os.environ.get("CI"):
        pytest.fail(f"CI lacks {what}", pytrace=False)
    pytest.skip(f"needs {what}")


def need(what: str) -> Union[Path, str]:
    """Return what a test needs, or end the test.

    `what` is "python3.9" (an interpreter), "torch" or any module, "native" (the native binary),
    "asan" (the same under the sanitizers), "shared" (the folder of corpora beside the repository)
    or "valgrind".
    """
    found = _find(what)
    if found is None:
        missing(what)
    return found


def _find(what: str) -> "Union[Path, str, None]":
    fixed = {
        "native": ROOT / "build" / "make" / "pellucid",
        "asan": ROOT / "build" / "asan" / "pellucid",
        "shared": Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared")),
    }
    if what in fixed:
        return fixed[what] if fixed[what].exists() else None
    if what == "valgrind":
        return shutil.which(what)
    if what.startswith("python3."):
        from pellucid.interpreters import find_interpreter

        major, minor = what[len("python") :].split(".")
        return find_interpreter((int(major), int(minor)))
    return what if importlib.util.find_spec(what) is not None else None
