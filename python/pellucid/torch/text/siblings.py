# SPDX-License-Identifier: Apache-2.0
"""The other files that a dumped ``full_code_for_*`` file uses: graphs and resume functions.

All files of a dump are in one directory.  A resume function is in another file, and so is the class
of a graph; each is loaded on first use.  In the captured process none of this is used, since the
real functions run there.
"""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType
from typing import Any, Callable, Mapping

_LOADED: dict[str, ModuleType] = {}


def resumed(scope: Mapping[str, Any], file: str, name: str) -> Callable[..., Any]:
    """Return the function ``name`` in another file of the same dump."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(_load(scope, file), name)(*args, **kwargs)

    return call


def graph(scope: Mapping[str, Any], file: str) -> Callable[..., Any]:
    """Return the graph in a file of the same dump, with generated inputs as in its ``main``."""
    made: list[Any] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not made:
            module = _load(scope, file)
            classes = [
                value
                for value in vars(module).values()
                if isinstance(value, type) and value.__module__ == module.__name__
            ]
            made.append(classes[-1]())
        return made[0](*args, **kwargs)

    return call


def _load(scope: Mapping[str, Any], file: str) -> ModuleType:
    path = os.path.join(os.path.dirname(os.path.abspath(scope["__file__"])), file)
    if path not in _LOADED:
        name = "pellucid_dump_" + "".join(c if c.isalnum() else "_" for c in file)
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"no loader for {path}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _LOADED[path] = module
    return _LOADED[path]
