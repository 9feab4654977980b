# SPDX-License-Identifier: Apache-2.0
"""Comparison of values within a tolerance, and the distance between values."""

from __future__ import annotations

import math
from typing import Any, Mapping, NamedTuple

import torch

from pellucid.dump.model.differences import Distance

RTOL: Mapping[torch.dtype, float] = {
    torch.float64: 1e-7,
    torch.complex128: 1e-7,
    torch.float32: 1e-4,
    torch.complex64: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 3e-2,
}
"""The default relative tolerance of each type."""
_FLOOR = 0.01
"""The least absolute tolerance, as a fraction of the relative tolerance."""


class Tolerance(NamedTuple):
    """The allowed distance between two values.

    Elements a and b are equal if |a - b| <= atol + rtol * |a|.  By default, ``atol`` is ``rtol``
    times the root mean square of all elements, so an element near 0 is compared with the precision
    of the larger ones.
    """

    rtol: float | None = None
    atol: float | None = None

    @property
    def is_default(self) -> bool:
        """Return true if neither was given."""
        return self.rtol is None and self.atol is None

    def part(self, one: torch.Tensor, other: torch.Tensor) -> bool:
        """Return true if two tensors differ by more than this tolerance.

        Tensors on the device ``meta`` have no values, so they never differ.
        """
        return bool(self._parted(one, other).any()) if one.shape == other.shape else True

    def _parted(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        one, other = _comparable(one, other)
        exact = one.dtype not in RTOL and not one.is_floating_point()
        if exact:
            return one != other
        rtol = RTOL.get(one.dtype, 3e-2) if self.rtol is None else self.rtol
        a, b = _wide(one), _wide(other)
        size = a.abs()
        atol: Any = self.atol
        if atol is None:
            known = size[torch.isfinite(size)]
            mean = float(known.square().mean().sqrt()) if known.numel() else 0.0
            atol = rtol * max(mean, _FLOOR) if rtol else 0.0
        far = (a - b).abs() > atol + rtol * size
        both = torch.isfinite(a) & torch.isfinite(b)
        return torch.where(both, far, ~_alike(a, b))

    def distance(self, one: torch.Tensor, other: torch.Tensor) -> Distance:
        """Return the distance between two tensors of the same shape."""
        if one.shape != other.shape or not one.numel() or one.is_meta or other.is_meta:
            return Distance(one.numel(), one.numel(), None, None, None, ())
        one, other = _comparable(one, other)
        parted = self._parted(one, other)
        apart = (_wide(one) - _wide(other)).abs()
        apart = torch.where(torch.isnan(apart), torch.zeros_like(apart), apart)
        # The index of the largest difference; two infinities have no distance.
        at = int(torch.where(parted, apart, torch.full_like(apart, -1.0)).argmax())
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(at), one.shape))
        first, second = (float(_real(value).flatten()[at]) for value in (one, other))
        most = float(apart.flatten()[at])
        return Distance(int(parted.sum()), one.numel(), most, first, second, index)

    def part_values(self, one: Any, other: Any) -> bool:
        """Return true if two results of any type differ by more than this tolerance."""
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            if (one.dtype, one.device, one.layout) != (other.dtype, other.device, other.layout):
                return True
            return self.part(one, other)
        if isinstance(one, float) and isinstance(other, float):
            return self.part(_of(one), _of(other))
        return type(one) is not type(other) or bool(one != other)


def same_kind(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return true if two tensors could differ by rounding alone.

    That is, they have the same shape and type, and the same non-finite elements.
    """
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    a, b = map(_wide, _comparable(one, other))
    both = torch.isfinite(a) & torch.isfinite(b)
    return bool((both | _alike(a, b)).all())


def errors(one: torch.Tensor, other: torch.Tensor, true: torch.Tensor) -> tuple[float, float]:
    """Return the root mean square errors of two values, relative to the true one.

    Elements that are NaN in both, or the same infinity, are left out; if only one is not finite,
    the distance is infinite.  The result is NaN if no element is left.
    """
    one, other = _comparable(one, other)
    a, true = map(_wide, _comparable(one, true))
    b = _wide(other).to(a.device)
    left = torch.isfinite(true) & ~(_alike(a, b) & ~torch.isfinite(a))
    return _size((a - true)[left]), _size((b - true)[left])


def _size(apart: torch.Tensor) -> float:
    if not apart.numel():
        return math.nan
    apart = torch.nan_to_num(apart.abs(), nan=math.inf, posinf=math.inf)
    return float(apart.square().mean().sqrt())


def is_numeric(value: Any) -> bool:
    """Return true if a value is a floating-point or complex tensor."""
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def _real(value: torch.Tensor) -> torch.Tensor:
    wide = _wide(value)
    return wide.abs() if wide.is_complex() else wide


def _of(number: float) -> torch.Tensor:
    return torch.tensor(number, dtype=torch.float64)


def _alike(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a == b) | (torch.isnan(a) & torch.isnan(b))


def _comparable(one: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two tensors as dense tensors on one device."""
    if one.is_meta or other.is_meta:
        return torch.empty(0), torch.empty(0)
    one, other = _dense(one), _dense(other)
    return (one, other) if one.device == other.device else (one.cpu(), other.cpu())


def _dense(value: torch.Tensor) -> torch.Tensor:
    value = value.detach()
    return value if value.layout is torch.strided else value.to_dense()


def _wide(value: torch.Tensor) -> torch.Tensor:
    return _dense(value).to(torch.complex128 if value.is_complex() else torch.float64)
