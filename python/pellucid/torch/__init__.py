# SPDX-License-Identifier: Apache-2.0
"""The ``torch.compile`` side of pellucid, in folders that each know only those before them.

==============  ====================================================================================
:mod:`model`     what a capture consists of: plain values, their names, torch's names; pure text
:mod:`taps`      all that knows what torch looks like inside
:mod:`dynamo`    one transformed frame: from Dynamo's bytecode to source
:mod:`guards`    a tree of guards as Python, and what that Python calls
:mod:`store`     a capture on disk: opened, written, loaded again
:mod:`text`      events to the text of files
:mod:`capture`   hook calls to events and files, while the program runs
:mod:`logs`      the same from a log of torch's trace, without torch
:mod:`api`       what a user calls
:mod:`trying`    remedies, applied to a copy of the program that runs in a process of its own
==============  ====================================================================================

Importing this imports neither torch nor what talks to it; a name is loaded when it is first used.
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
