# SPDX-License-Identifier: Apache-2.0
"""The statement that imports a live module."""

import sys
from types import ModuleType
from typing import Any


def import_line(module: ModuleType, name: str) -> str:
    """Return the statement that binds a module to a name.

    ``import a.b as c`` binds the attribute ``b`` of ``a``, which may hide the module of that name.

    >>> import json.decoder, unittest.main
    >>> import_line(json.decoder, "d"), import_line(json, "json")
    ('import json.decoder as d', 'import json')
    >>> import_line(sys.modules["unittest.main"], "m")  # unittest.main is a class
    "m = __import__('importlib').import_module('unittest.main')"
    """
    path = module.__name__
    if name == path:
        return f"import {path}"
    top, *parts = path.split(".")
    bound: Any = sys.modules.get(top)
    for part in parts:
        # Not getattr: a package's __getattr__ is its own code, and may raise anything.
        bound = vars(bound).get(part) if isinstance(bound, ModuleType) else None
    if parts and bound is not module:
        return f"{name} = __import__('importlib').import_module({path!r})"
    return f"import {path} as {name}"
