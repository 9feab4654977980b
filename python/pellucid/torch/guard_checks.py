"""What the guards of a dumped ``full_code_for_*`` file call; needs no torch to be imported."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

Sizes = Optional[Sequence[Optional[int]]]


def check_tensor(
    value: Any,
    *,
    type: str,
    dtype: str,
    device: object,
    requires_grad: bool,
    size: Sizes,
    stride: Sizes,
) -> bool:
    """Decide a TENSOR_MATCH guard; None in ``size`` or ``stride`` means any number there.

    The dispatch keys that torch compares besides are left out, and the device when it is None (the
    CPU has no index).
    """
    return (
        value.__class__.__name__ == type
        and str(value.dtype) == dtype
        and bool(value.requires_grad) == requires_grad
        and (device is None or value.device.index == device)
        and _match(value.shape, size)
        and _match(value.stride(), stride)
    )


def _match(actual: Sequence[int], wanted: Sizes) -> bool:
    if wanted is None:
        return True
    return len(actual) == len(wanted) and all(w is None or a == w for a, w in zip(actual, wanted))


def type_name(value: Any) -> str:
    """A value's exact type, as ``repr`` of the class has it.

    >>> type_name({}), type_name(Ellipsis)
    ('dict', 'ellipsis')
    """
    cls = type(value)
    return (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )


def dict_contains(key: object, mapping: Mapping[object, object]) -> bool:
    """Whether a dictionary has a key."""
    return key in mapping
