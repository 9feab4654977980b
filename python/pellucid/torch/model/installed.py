# SPDX-License-Identifier: Apache-2.0
"""Which files are of what is installed, and so no part of the program."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Sequence

_PACKAGES = ("site-packages", "dist-packages")


def packages_folders(path: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of installed packages, each with a separator at its end.

    A virtual environment may see those of the Python that it was made with, and ``PYTHONPATH`` may
    add others.

    Args:
        path: where modules are looked for.

    >>> packages_folders(["/elsewhere/site-packages", "/home/program"])[-1]
    '/elsewhere/site-packages/'
    """
    found = [sysconfig.get_paths()[kind] for kind in ("purelib", "platlib")]
    found += [os.path.abspath(folder) for folder in path if os.path.basename(folder) in _PACKAGES]
    return tuple(os.path.join(folder, "") for folder in dict.fromkeys(found))


_PACKAGES_FOLDERS = packages_folders(sys.path)
_FOLDERS = (os.path.join(sysconfig.get_paths()["stdlib"], ""), *_PACKAGES_FOLDERS)


def is_installed(file: str) -> bool:
    """Return true if a file is of the standard library or of an installed package.

    >>> is_installed(os.__file__), is_installed("model.py")
    (True, False)
    """
    return os.path.abspath(file).startswith(_FOLDERS)


def is_of_a_package(file: str) -> bool:
    """Return true if a file is of an installed package.

    >>> is_of_a_package("model.py")
    False
    """
    return os.path.abspath(file).startswith(_PACKAGES_FOLDERS)
