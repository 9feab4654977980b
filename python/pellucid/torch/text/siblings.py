# SPDX-License-Identifier: Apache-2.0
"""What a dumped ``full_code_for_*`` file reaches beside itself: graphs, and where functions resume.

The files of a dump stand in one directory.  A function continues in another file after a graph
break, and a graph is a class in a file of its own; each is loaded when it is first called.  In the
process that was captured none of this is used: there the real functions run.
"""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType
from typing import Any, Callable, Mapping

_LOADED: dict[str, ModuleType] = {}


def resumed(scope: Mapping[str, Any], file: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of another file of the dump that ``scope``'s file belongs to."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(_load(scope, file), name)(*args, **kwargs)

    return call


def graph(scope: Mapping[str, Any], file: str) -> Callable[..., Any]:
    """The graph in a file of the same dump, with what it needs made up as its ``main`` does."""
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
