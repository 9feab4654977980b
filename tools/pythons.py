# SPDX-License-Identifier: Apache-2.0
"""The versions of Python that are tested, and the interpreters that `make newest` brought.

Everything that asks other interpreters takes the versions from here. Importing this module lets
`pellucid.interpreters` find what lies in build/newest.
"""

import os
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parent.parent
VERSIONS: List[str] = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
# From here on one extension serves: nanobind knows the stable ABI of these.
STABLE = (3, 12)
# Those that a system in use may well lack, as it is older than they are.
NEWEST = VERSIONS[-2:]
FOLDER = ROOT / "build" / "newest" / "root"


def minor(version: str) -> int:
    """Return 9 for "3.9"."""
    return int(version.split(".")[1])


def path_of(version: str) -> Path:
    """Return where `make newest` puts the interpreter of a version."""
    return FOLDER / "usr" / "bin" / f"python{version}"


def variable_of(version: str) -> str:
    """Return the name of the variable that names the interpreter of a version."""
    return "PELLUCID_PYTHON_" + version.replace(".", "_")


def offer() -> None:
    """Name what is there in the variables that `find_interpreter` reads, unless they are set."""
    for version in NEWEST:
        if path_of(version).exists():
            os.environ.setdefault(variable_of(version), str(path_of(version)))


offer()
