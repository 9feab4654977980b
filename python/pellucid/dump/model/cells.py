# SPDX-License-Identifier: Apache-2.0
"""Numbers of notebook cells, in the process that runs them."""

from __future__ import annotations

import sys

from .keys import Place


def cell_of(file: str) -> str:
    """Return ``In [4]`` if a file is a cell of this process's notebook; otherwise an empty text."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    label = getattr(getattr(shell, "compile", None), "format_code_name", None)
    _, name = (label(file) if label is not None else None) or ("", "")
    return str(name).replace("In[", "In [")


def located(place: Place) -> str:
    """Return a place in the form that users know: a cell's number, or a file.

    >>> located(Place("/home/me/model.py", 7))
    '/home/me/model.py:7'
    """
    cell = cell_of(place.file)
    return f"{cell}, line {place.line}" if cell else str(place)
