# SPDX-License-Identifier: Apache-2.0
"""The ``torch.compile`` side of pellucid: a stack of packages, each importing only earlier ones.

They make captures; :mod:`pellucid.dump` is what a capture is.

================  ==================================================================================
:mod:`taps`       all knowledge of torch's internals
:mod:`dynamo`     one transformed frame: from Dynamo's bytecode to source
:mod:`guards`     a tree of guards as Python, and the functions that this Python calls
:mod:`text`       from events to the text of files
:mod:`capture`    from hook calls to events and files, while the program runs
:mod:`logs`       the same from a log of torch's trace, without torch
:mod:`artifacts`  the same from compiled code that torch saved, without torch
:mod:`api`        the public functions
:mod:`trying`     remedies, tried on a copy of the program in a separate process
================  ==================================================================================

Importing this package imports neither torch nor the modules that need it; names are loaded on first
use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api.bytecode_log import install, uninstall
    from .api.debug import debug
    from .api.difference import find_difference
    from .api.nan import NanReport, find_nan
    from .api.prepare import dump_graph, prepare_debug

_LAZY = {
    "NanReport": "nan",
    "debug": "debug",
    "dump_graph": "prepare",
    "find_difference": "difference",
    "find_nan": "nan",
    "install": "bytecode_log",
    "prepare_debug": "prepare",
    "uninstall": "bytecode_log",
}

__all__ = [
    "NanReport",
    "debug",
    "dump_graph",
    "find_difference",
    "find_nan",
    "install",
    "prepare_debug",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.api.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
