# SPDX-License-Identifier: Apache-2.0
"""The results of compiled functions and the trained parameters, and their comparison."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
from collections import Counter
from typing import Any, Iterator, Mapping, NamedTuple

import torch

from ..api.closeness import Tolerance

_MOST_BYTES = 256 * 2**20
_DEEPEST = 6
_PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Tensors with real values: no fake tensors, and no composites."""


class Results:
    """The results of a run, by the call that returned them."""

    def __init__(self) -> None:
        self.kept: dict[str, torch.Tensor] = {}
        self._calls: Counter[str] = Counter()
        self._bytes = 0
        self._owners: dict[int, torch.nn.Module | torch.optim.Optimizer] = {}

    def add(self, function: str, value: Any) -> None:
        """Store the result of a call of a compiled function.

        Calls in other threads come in a different order each time, so they are ignored.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        self._calls[function] += 1
        with contextlib.suppress(Exception):  # our errors must not reach the program
            for path, part in _parts(value, f"{function} #{self._calls[function]}", _DEEPEST):
                self._keep(path, part)

    def trains(self, owner: Any) -> None:
        """Include the parameters of a module or an optimizer in the final results."""
        if isinstance(owner, (torch.nn.Module, torch.optim.Optimizer)):
            self._owners.setdefault(id(owner), owner)

    def end(self) -> None:
        """Store the current parameters and their gradients."""
        for number, owner in enumerate(self._owners.values()):
            for name, parameter in _parameters(owner):
                self._keep(f"parameter {number} {name}", parameter)
                if parameter.grad is not None:
                    self._keep(f"gradient {number} {name}", parameter.grad)

    def _keep(self, name: str, value: torch.Tensor) -> None:
        if type(value) not in _PLAIN or value.layout is not torch.strided or value.is_meta:
            return
        self._bytes += value.numel() * value.element_size()
        if self._bytes <= _MOST_BYTES:
            with torch.no_grad():
                self.kept[name] = value.detach().to("cpu", copy=True)


def _parameters(
    owner: torch.nn.Module | torch.optim.Optimizer,
) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(owner, torch.nn.Module):
        yield from owner.named_parameters()
    else:
        lists = (group["params"] for group in owner.param_groups)
        yield from ((str(n), p) for n, p in enumerate(p for part in lists for p in part))


def _parts(value: Any, path: str, depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors and numbers in a result, with their paths."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, (bool, int, float)):
        with contextlib.suppress(OverflowError):
            yield path, torch.tensor(float(value), dtype=torch.float64)
    elif depth and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _parts(item, f"{path}[{key!r}]"[:200], depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _parts(item, f"{path}[{number}]", depth - 1)
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            item = getattr(value, field.name, None)
            yield from _parts(item, f"{path}.{field.name}", depth - 1)


class Comparison(NamedTuple):
    """The difference between the results of two runs."""

    compared: int
    difference: float
    """The largest difference; infinite if a size, a type or the finite elements differ."""
    name: str
    """The name of that result."""
    are_apart: bool
    """Whether it exceeds rounding."""


def compare(before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor]) -> Comparison:
    """Compare the results that both runs have."""
    largest, name, apart, compared = 0.0, "", False, 0
    for key, one in before.items():
        other = after.get(key)
        if other is None:
            continue
        compared += 1
        apart = Tolerance().part(one, other) or apart
        gap = _gap(one, other)
        if gap > largest:
            largest, name = gap, key
    return Comparison(compared, largest, name, apart)


def _gap(one: torch.Tensor, other: torch.Tensor) -> float:
    if one.shape != other.shape:
        return math.inf
    if not one.numel():
        return 0.0
    wide = torch.complex128 if one.is_complex() or other.is_complex() else torch.float64
    a, b = one.to(wide), other.to(wide)
    apart = torch.where((a == b) | (torch.isnan(a) & torch.isnan(b)), 0.0, (a - b).abs())
    return float(torch.nan_to_num(apart, nan=math.inf, posinf=math.inf).max())
