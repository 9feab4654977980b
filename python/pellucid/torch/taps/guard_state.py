# SPDX-License-Identifier: Apache-2.0
"""The state of torch that guards check, read from the places in :mod:`compat`.

Dumped files use these functions through :mod:`~pellucid.torch.guards.checks`.  If there is no
torch, or it lacks what is needed, the answer is None, or the expected value.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Mapping

from .compat import Capability, Probe

_probe = Probe()
_SPARSE = ("torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc")


def missing() -> tuple[Capability, ...]:
    """Return the capabilities that were requested and are missing, so far."""
    return _probe.missing


def names() -> dict[str, Any]:
    """Return the names in torch's guard text, as torch resolves them."""
    found: dict[str, Any] = {}
    for table in ("guard_names", "shape_names"):
        held = _probe.get(table)
        held = held() if callable(held) else held
        found.update(held if isinstance(held, Mapping) else {})
    found.pop("L", None)
    return found


def name(wanted: str) -> Any:
    """Return one of :func:`names` or of ``torch``; for others, a function that raises NameError."""
    known = names()
    found = known.get(wanted, getattr(known.get("torch"), wanted, None))
    if found is not None:
        return found

    def missing(*_: object) -> Any:
        raise NameError(f"this torch has no {wanted}")

    return missing


def without_torch_function() -> Any:
    """Return a context that disables torch functions and torch function modes."""
    off = _probe.get("disable_torch_function")
    return contextlib.nullcontext() if off is None else off()


def with_torch_function() -> Any:
    """Return a context that enables them again inside :func:`without_torch_function`."""
    on = _probe.get("enable_torch_function")
    return contextlib.nullcontext() if on is None else on()


def dispatch_keys(tensor: Any) -> str | None:
    """Return a tensor's dispatch keys, with this thread's included and excluded keys applied."""
    of, added, left_out = map(_probe.get, ("dispatch_keys", "keys_added", "keys_left_out"))
    if of is None or added is None or left_out is None:
        return None
    return _names((of(tensor) | added()) - left_out())


def keys_of_number(number: int) -> str | None:
    """Return the dispatch keys that torch saves as a number, in a thread without settings."""
    key_set, keys = _probe.get("key_set"), name("_C").DispatchKey
    if key_set is None:
        return None
    usual = key_set(keys.BackendSelect) | key_set(keys.ADInplaceOrView)
    found = _names(key_set.from_raw_repr(number) | usual).split(", ")
    return ", ".join(key for key in found if not key.startswith("Autocast"))


def _names(keys: Any) -> str:
    return str(keys).partition("(")[2].rpartition(")")[0]


def strides(tensor: Any) -> Any:
    """Return a tensor's strides; for compressed sparse tensors -1, as torch does."""
    return (-1,) * tensor.dim() if str(tensor.layout) in _SPARSE else tensor.stride()


def overlapping(tensors: list[Any]) -> set[int] | None:
    """Return the indices of the tensors that share memory with another one."""
    find = _probe.get("overlapping_tensors")
    return None if find is None else set(find(tensors, symbolic=False))


def global_state() -> dict[str, Any] | None:
    """Return the settings of this process and thread that a compile depends on."""
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
    """Return the active torch function modes."""
    stack = _probe.get("function_modes")
    return [] if stack is None else list(stack())


def default_device(otherwise: Any) -> Any:
    """Return the last argument of ``torch.set_default_device``; None if it was not called."""
    module = _probe.get("utils_device")
    return otherwise if module is None else module.CURRENT_DEVICE


def dual_level(otherwise: Any) -> Any:
    """Return the level of forward-mode differentiation, -1 outside."""
    module = _probe.get("forward_ad")
    return otherwise if module is None else getattr(module, "_current_level", None)


def type_name(identity: int) -> str:
    """Return the name of the class with this id, in ``repr`` form; ``object`` if there is none.

    Only classes are searched, from ``object`` down, since an id alone may be that of a freed
    object.
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
