# SPDX-License-Identifier: Apache-2.0
"""The originals of torch's functions that programs written for depyf replace."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from .compat import resolve
from .hooks import PROBE

_PATHS = {
    "unpatched__exec_with_source": "torch.fx.graph_module:_exec_with_source",
    "unpatched_load_by_key_path": "torch._inductor.codecache:PyCodeCache.load_by_key_path",
    "unpatched___call__": "torch._dynamo.eval_frame:OptimizeContext.__call__",
}


def replaceable() -> dict[str, Any]:
    """Return the functions under depyf's names; None for those that this torch lacks."""
    found = {name: resolve(path) for name, path in _PATHS.items()}
    found["unpatched_lazy_format_graph_code"] = _copied(PROBE.get("format_graph"))
    return found


def _copied(function: Any) -> Any:
    """Return a copy of a function whose code does not change with the original's."""
    if not isinstance(function, FunctionType):
        return function
    code, scope, name = function.__code__, function.__globals__, function.__name__
    copy = FunctionType(code, scope, name, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
