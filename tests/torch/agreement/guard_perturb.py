"""Ways to change what a guard looks at: values, globals, closures, attributes, torch's state.

A change is a context: it is in force inside, and everything is as before after it.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import math
import random
import types
from typing import Any, Callable, Iterator

from pellucid.torch.guards import access as guard_access
from pellucid.torch.guards import checks as guard_checks
from pellucid.torch.taps.guard_tree import Manager

_MISSING = object()


class _InUse:
    """The modules that what compares needs itself; to change them would change the comparison."""

    def __contains__(self, value: object) -> bool:
        name = value.__name__ if isinstance(value, types.ModuleType) else ""
        return name in ("builtins", "torch", "contextlib", "random", "sys", "torch.overrides")


_IN_USE = _InUse()


def other_values(value: Any, rng: random.Random, pool: list[Any]) -> list[Any]:
    """Values that differ from one in what guards look at, of the same type and of others."""
    import torch

    if isinstance(value, torch.Tensor):
        return _tensors(value, rng, pool)
    if isinstance(value, bool):
        return [not value, int(value), None]
    if isinstance(value, int):
        return [value + 1, -value, float(value), value == 1]
    if isinstance(value, float):
        return [value + 0.5, float("nan"), int(value) if math.isfinite(value) else 0]
    if isinstance(value, (str, bytes)):
        return [value + value[:1] + value[:1], None, value[:-1]]
    if value is None:
        return [0, torch.ones(2), "", False]
    if isinstance(value, dict):
        return _dicts(value)
    if isinstance(value, (list, tuple)):
        return _sequences(value)
    if isinstance(value, (set, frozenset)):
        return [type(value)([*value, "more"]), type(value)(list(value)[1:]), list(value)]
    if isinstance(value, types.FunctionType):
        twin = types.FunctionType(
            value.__code__, value.__globals__, value.__name__, value.__defaults__, value.__closure__
        )
        return [lambda *a, **k: None, len, twin]
    if isinstance(value, (types.BuiltinFunctionType, types.ModuleType, type, types.CodeType)):
        return [len, random, int, other_values.__code__, None]
    return _objects(value)


def _tensors(value: Any, rng: random.Random, pool: list[Any]) -> list[Any]:
    import torch

    made: list[Callable[[], Any]] = [
        lambda: value.to(torch.float64 if value.dtype != torch.float64 else torch.float32),
        lambda: value[None],
        lambda: value.detach().clone().requires_grad_(not value.requires_grad),
        lambda: torch.nn.Parameter(value.detach().clone(), requires_grad=False),
        lambda: torch.cat([value, value]),
        lambda: value[:1],
        lambda: value.repeat_interleave(2, -1)[..., ::2],
        lambda: value.t(),
        lambda: value.to("meta"),
        lambda: value.to_sparse(),
        lambda: _marked(value.clone()),
        lambda: rng.choice(pool),
        lambda: None,
        lambda: value.tolist(),
        lambda: value.clone(),
    ]
    found = []
    for make in made:
        with contextlib.suppress(Exception), torch.no_grad():
            found.append(make())
    return found


def _marked(tensor: Any) -> Any:
    import torch

    torch._dynamo.mark_dynamic(tensor, 0)
    return tensor


def _dicts(value: dict[Any, Any]) -> list[Any]:
    items = list(dict.items(value))
    made: list[Any] = [{**value, "more": 1}, dict(items[1:]), dict(items[::-1]), items, None]
    with contextlib.suppress(Exception):
        made.append(copy.copy(value))
    return made


def _sequences(value: Any) -> list[Any]:
    made = [[*value], (*value,), [*value, None], (*value, 1), value[:-1], None]
    with contextlib.suppress(Exception):
        made.append(copy.copy(value))
    return made


def _objects(value: Any) -> list[Any]:
    made: list[Any] = [None, object(), 7]
    with contextlib.suppress(Exception):
        twin = copy.copy(value)
        made.append(twin)
        if getattr(twin, "__dict__", None):
            other = copy.copy(value)
            other.__class__ = type("Other", (type(value),), {})
            made.append(other)
    return made


# -- places ----------------------------------------------------------------------------------------


def places(
    top: Manager, frame: dict[str, Any], scope: dict[str, Any], names: dict[str, Any]
) -> list[tuple[Manager, Any, Any, Manager]]:
    """Every guarded value that can be reached: its manager, what is above, it, its parent."""
    found = []
    pending: list[tuple[Manager, Manager, Any]] = [(top, child, frame) for child in top.children]
    space = {**vars(guard_checks), **names, "L": frame, "G": scope}
    while pending:
        parent, child, above = pending.pop()
        text = guard_access.access(parent, child, "above", names, repr)
        if text is None:
            continue
        try:
            value = eval(text, {**space, "above": above})
        except Exception:
            continue
        if above is not builtins.__dict__ and above not in _IN_USE:
            found.append((child, above, value, parent))
        if len(found) > 20000:
            break
        pending.extend((child, below, value) for below in child.children)
    return found


@contextlib.contextmanager
def replaced(manager: Manager, above: Any, value: Any) -> Iterator[bool]:
    """Put another value where a manager finds its own; yields False when that cannot be done."""
    setters = {
        "FrameLocalsGuardAccessor": _set_item,
        "DictGetItemGuardAccessor": _set_item,
        "ListGetItemGuardAccessor": _set_item,
        "GetItemGuardAccessor": _set_item,
        "GetAttrGuardAccessor": _set_attribute,
        "GenericGetAttrGuardAccessor": _set_attribute,
        "GradGuardAccessor": _set_attribute,
        "CodeGuardAccessor": _set_attribute,
        "FuncDefaultsGuardAccessor": _set_attribute,
        "FuncKwDefaultsGuardAccessor": _set_attribute,
        "TypeGuardAccessor": _set_attribute,
        "value": _set_nth,
    }
    set_ = setters.get(manager.access)
    if set_ is None:
        yield False
        return
    try:
        undo = set_(manager, above, value)
    except Exception:
        yield False
        return
    try:
        yield True
    finally:
        undo()


def _key(manager: Manager, above: Any) -> Any:
    text = manager.key
    if manager.access == "FrameLocalsGuardAccessor":
        text = text.partition("key=")[2].rpartition(", framelocals_idx=")[0]
    keys = above if isinstance(above, dict) else range(len(above))
    return next(key for key in keys if text in (repr(key), str(key)))


def _set_item(manager: Manager, above: Any, value: Any) -> Callable[[], None]:
    key = _key(manager, above)
    old = above[key]
    if value is _MISSING:
        items = list(above.items())
        del above[key]

        def put_back() -> None:
            above.clear()
            above.update(items)

        return put_back
    above[key] = value
    return lambda: above.__setitem__(key, old)


def _set_nth(manager: Manager, above: Any, value: Any) -> Callable[[], None]:
    key = list(dict.keys(above))[int(manager.key)]
    if value is _MISSING:
        raise KeyError(key)
    old = above[key]
    above[key] = value
    return lambda: above.__setitem__(key, old)


_ATTRIBUTES = {
    "GradGuardAccessor": "grad",
    "CodeGuardAccessor": "__code__",
    "FuncDefaultsGuardAccessor": "__defaults__",
    "FuncKwDefaultsGuardAccessor": "__kwdefaults__",
    "TypeGuardAccessor": "__class__",
}


def _set_attribute(manager: Manager, above: Any, value: Any) -> Callable[[], None]:
    name = _ATTRIBUTES.get(manager.access, manager.key)
    if isinstance(above, types.ModuleType) and value is _MISSING:
        raise AttributeError(name)
    old = getattr(above, name)
    if value is _MISSING:
        delattr(above, name)
    else:
        setattr(above, name, value)
    return lambda: setattr(above, name, old)


MISSING = _MISSING


# -- torch's state ---------------------------------------------------------------------------------


def states() -> list[tuple[str, Callable[[], Any]]]:
    """Changes of the process's state that guards look at, by name."""
    import torch
    from torch.autograd import forward_ad
    from torch.overrides import BaseTorchFunctionMode

    def switched(get: Callable[[], Any], set_: Callable[[Any], Any], value: Any) -> Any:
        @contextlib.contextmanager
        def change() -> Iterator[None]:
            old = get()
            set_(value)
            try:
                yield
            finally:
                set_(old)

        return change

    def device(name: Any) -> None:
        torch.set_default_device(name)

    hooks = torch.autograd.graph.saved_tensors_hooks
    return [
        ("grad mode off", torch.no_grad),
        ("inference mode", torch.inference_mode),
        ("grad mode on", torch.enable_grad),
        ("autocast", lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
        ("autocast, another dtype", lambda: torch.autocast("cpu", dtype=torch.float16)),
        ("autocast off", lambda: torch.autocast("cpu", enabled=False)),
        (
            "default dtype",
            switched(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
        ),
        (
            "deterministic",
            switched(
                torch.are_deterministic_algorithms_enabled,
                torch.use_deterministic_algorithms,
                True,
            ),
        ),
        ("threads", switched(torch.get_num_threads, torch.set_num_threads, 2)),
        ("default device", switched(lambda: None, device, "cpu")),
        ("torch function mode", BaseTorchFunctionMode),
        (
            "two torch function modes",
            lambda: _both(BaseTorchFunctionMode(), BaseTorchFunctionMode()),
        ),
        ("no torch function", torch._C.DisableTorchFunctionSubclass),
        ("no torch function at all", torch._C.DisableTorchFunction),
        ("forward differentiation", forward_ad.dual_level),
        ("saved tensors hooks", lambda: hooks(lambda x: x, lambda x: x)),
    ]


@contextlib.contextmanager
def _both(one: Any, two: Any) -> Iterator[None]:
    with one, two:
        yield
