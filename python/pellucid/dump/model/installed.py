# SPDX-License-Identifier: Apache-2.0
"""Which files are installed and so not part of the program."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Sequence

_PACKAGES = ("site-packages", "dist-packages")


def packages_folders(path: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of installed packages, each with a trailing separator.

    A virtual environment may include those of its base Python, and ``PYTHONPATH`` may add others.

    Args:
        path: the module search path.

    >>> packages_folders(["/elsewhere/site-packages", "/home/program"])[-1]
    '/elsewhere/site-packages/'
    """
    found = [sysconfig.get_paths()[kind] for kind in ("purelib", "platlib")]
    found += [os.path.abspath(folder) for folder in path if os.path.basename(folder) in _PACKAGES]
    return tuple(os.path.join(folder, "") for folder in dict.fromkeys(found))


_PACKAGES_FOLDERS = packages_folders(sys.path)
_FOLDERS = (os.path.join(sysconfig.get_paths()["stdlib"], ""), *_PACKAGES_FOLDERS)


def is_installed(file: str) -> bool:
    """Return true if a file belongs to the standard library or an installed package.

    >>> is_installed(os.__file__), is_installed("model.py")
    (True, False)
    """
    return os.path.abspath(file).startswith(_FOLDERS)


def is_of_a_package(file: str) -> bool:
    """Return true if a file belongs to an installed package.

    >>> is_of_a_package("model.py")
    False
    """
    return os.path.abspath(file).startswith(_PACKAGES_FOLDERS)
