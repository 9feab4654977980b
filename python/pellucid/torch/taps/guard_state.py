# SPDX-License-Identifier: Apache-2.0
"""The state of torch that guards ask about, read where :mod:`compat` says it is.

Dumped files reach these functions through :mod:`~pellucid.torch.guards.checks`.  Where there is no
torch, or it has not what is asked for, the answer is None, or what was asked for.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Mapping

from .compat import Capability, Probe

_probe = Probe()
_SPARSE = ("torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc")


def missing() -> tuple[Capability, ...]:
    """What was asked of this torch in vain, so far."""
    return _probe.missing


def names() -> dict[str, Any]:
    """The names that torch's wording of guards uses, as torch resolves them."""
    found: dict[str, Any] = {}
    for table in ("guard_names", "shape_names"):
        held = _probe.get(table)
        held = held() if callable(held) else held
        found.update(held if isinstance(held, Mapping) else {})
    found.pop("L", None)
    return found


def name(wanted: str) -> Any:
    """One of :func:`names` or of ``torch``'s own; otherwise what raises NameError when called."""
    known = names()
    found = known.get(wanted, getattr(known.get("torch"), wanted, None))
    if found is not None:
        return found

    def missing(*_: object) -> Any:
        raise NameError(f"this torch has no {wanted}")

    return missing


def without_torch_function() -> Any:
    """A context in which no torch function and no torch function mode is called."""
    off = _probe.get("disable_torch_function")
    return contextlib.nullcontext() if off is None else off()


def with_torch_function() -> Any:
    """A context inside :func:`without_torch_function` in which they are called again."""
    on = _probe.get("enable_torch_function")
    return contextlib.nullcontext() if on is None else on()


def dispatch_keys(tensor: Any) -> str | None:
    """A tensor's dispatch keys and those that this thread adds and leaves out, in torch's words."""
    of, added, left_out = map(_probe.get, ("dispatch_keys", "keys_added", "keys_left_out"))
    if of is None or added is None or left_out is None:
        return None
    text = str((of(tensor) | added()) - left_out())
    return text.partition("(")[2].rpartition(")")[0]


def strides(tensor: Any) -> Any:
    """A tensor's strides; compressed sparse ones have none, for which torch has -1."""
    return (-1,) * tensor.dim() if str(tensor.layout) in _SPARSE else tensor.stride()


def overlapping(tensors: list[Any]) -> set[int] | None:
    """The numbers of the tensors that share memory with another one."""
    find = _probe.get("overlapping_tensors")
    return None if find is None else set(find(tensors, symbolic=False))


def global_state() -> dict[str, Any] | None:
    """The settings of this process and thread that a compile depends on."""
    make = _probe.get("global_state")
    state: Any = None if make is None else make()
    if not hasattr(state, "__getstate__"):
        return None
    try:
        told = json.loads(state.__getstate__())
    except (TypeError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def function_modes() -> list[Any]:
    """The torch function modes that are on."""
    stack = _probe.get("function_modes")
    return [] if stack is None else list(stack())


def default_device(otherwise: Any) -> Any:
    """What ``torch.set_default_device`` was called with last; None when it was not."""
    module = _probe.get("utils_device")
    return otherwise if module is None else module.CURRENT_DEVICE


def dual_level(otherwise: Any) -> Any:
    """The level of forward-mode differentiation, -1 outside."""
    module = _probe.get("forward_ad")
    return otherwise if module is None else getattr(module, "_current_level", None)


def type_name(identity: int) -> str:
    """The name of the class with this id, as ``repr`` has it; ``object`` when there is none.

    Only classes are looked at, from ``object`` down; an id alone may be that of nothing any more.
    """
    pending: list[type] = [object]
    seen: set[int] = set()
    while pending:
        cls = pending.pop()
        if id(cls) == identity:
            name = cls.__qualname__
            return name if cls.__module__ == "builtins" else f"{cls.__module__}.{name}"
        subclasses: list[type] = type.__subclasses__(cls)
        for below in subclasses:
            if id(below) not in seen:
                seen.add(id(below))
                pending.append(below)
    return "object"
