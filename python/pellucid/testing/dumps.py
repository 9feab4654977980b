# SPDX-License-Identifier: Apache-2.0
"""Where the captures of tests are: each has a directory that is named after its test."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import Callable

_LONGEST = 100
"""In bytes; names of files may have 255."""
_UNSAFE = re.compile(r"[^\w.\[\]-]+")

folders: list[Callable[[], Path]] = []
"""Returns the directory of all captures of this run; empty if the plugin is not in use."""


def path_of(node: str) -> PurePosixPath:
    """Return a relative path for a test: the path of its file, then its name.

    A name that is shortened or loses characters gets a hash, so that no two tests share one.

    >>> str(path_of("tests/test_model.py::TestHead::test_step[3-True]"))
    'tests/test_model/TestHead.test_step[3-True]'
    >>> str(path_of("test_model.py::test_step[a/b]"))
    'test_model/test_step[a_b]-8f34a2f5'
    """
    file, _, test = node.partition("::")
    parts = [part for part in PurePosixPath(file).parts if part not in ("..", "/")]
    function, bracket, parameters = test.partition("[")
    name = function.replace("::", ".") + bracket + parameters
    safe = _UNSAFE.sub("_", name).encode()[:_LONGEST].decode(errors="ignore")
    if safe != name:
        safe = f"{safe}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
    return PurePosixPath(*parts).with_suffix("") / safe


def new_dump(name: str = "") -> Path:
    """Return the directory for a capture of the running test, or a temporary one; it is empty."""
    node = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if not node or not folders:
        return Path(tempfile.mkdtemp(prefix="pellucid_test_"))
    path = path_of(node)
    # Next to the capture of the test, if there is one: below it, it would be part of that one.
    directory = folders[-1]() / (path.with_name(f"{path.name}.{name}") if name else path)
    shutil.rmtree(directory, ignore_errors=True)
    return directory
