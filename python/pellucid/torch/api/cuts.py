# SPDX-License-Identifier: Apache-2.0
"""The arguments of one call, detached from the program's autograd graph."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import torch

from . import kept


class Cut:
    """The arguments of a call, with a leaf in place of each computed tensor.

    The gradients of the call can then be computed without changing the program's own graph.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.leaves: list[torch.Tensor] = []
        self._copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.args: tuple[Any, ...] = self._cut(tuple(args))
        self.kwargs: dict[str, Any] = self._cut(dict(kwargs))

    def others(self, tensors: Iterable[kept.Tensor]) -> list[kept.Tensor]:
        """Return the tensors that are in the program's graph and were not detached."""
        return [t for t in tensors if t.grad_fn is not None and id(t.tensor) not in self._copies]

    def write_back(self) -> None:
        """Copy what the call wrote into the copies back into the program's tensors."""
        with torch.no_grad():
            for own, copy in self._copies.values():
                if not torch.equal(own, copy):
                    own.detach().copy_(copy.detach())

    def _cut(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._copy(value) if is_cut(value) else value
        if type(value) in (list, tuple):
            return type(value)(self._cut(item) for item in value)
        if type(value) is dict:
            return {key: self._cut(item) for key, item in value.items()}
        return value

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in self._copies:
            leaf = tensor.detach().clone().requires_grad_()
            self.leaves.append(leaf)
            # The call may write into its argument, and a leaf cannot be written into.
            self._copies[id(tensor)] = tensor, leaf.clone()
        return self._copies[id(tensor)][1]


def is_cut(tensor: torch.Tensor) -> bool:
    """Return true if a tensor has an autograd history and can be copied with its layout."""
    if tensor.grad_fn is None or type(tensor) is not torch.Tensor:
        return False
    return tensor.layout is torch.strided and tensor.clone().stride() == tensor.stride()
