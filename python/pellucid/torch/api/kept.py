# SPDX-License-Identifier: Apache-2.0
"""Saved values of containers and tensors, which can be restored in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from .reach import ABSENT, LISTS


class Held(NamedTuple):
    """The saved content of one reachable container."""

    path: str
    owner: Any
    content: Any

    def put_back(self) -> None:
        """Restore the content of the container; its identity does not change."""
        owner, content = self.owner, self.content
        if isinstance(owner, torch.Generator):
            owner.set_state(content)
        elif isinstance(owner, (dict, set)):
            if _changed(owner, content):
                owner.clear()
                owner.update(content)
        elif isinstance(owner, LISTS):
            if len(owner) != len(content) or any(a is not b for a, b in zip(owner, content)):
                owner.clear()
                owner.extend(content)
        else:
            _put_back_attributes(vars(owner), content)


def hold(path: str, owner: Any) -> Held:
    """Save the content of a container or the attributes of an object."""
    if isinstance(owner, torch.Generator):
        return Held(path, owner, owner.get_state())
    if isinstance(owner, (dict, set)):
        return Held(path, owner, owner.copy())
    return Held(path, owner, list(owner) if isinstance(owner, LISTS) else dict(vars(owner)))


def _put_back_attributes(now: dict[str, Any], before: dict[str, Any]) -> None:
    for name in [name for name in now if name not in before]:
        del now[name]
    for name, value in before.items():
        if now.get(name, ABSENT) is not value:
            now[name] = value


def _changed(owner: Any, content: Any) -> bool:
    if isinstance(owner, set):
        return bool(owner != content)
    return list(owner) != list(content) or any(owner[key] is not content[key] for key in content)


class Tensor(NamedTuple):
    """The saved state of one reachable tensor."""

    path: str
    tensor: torch.Tensor
    data: torch.Tensor
    """Another tensor on the same memory, with the original shape and type."""
    bytes: int
    """The size of this memory; 0 if it cannot be accessed."""
    content: torch.Tensor
    requires_grad: bool
    grad_fn: Any
    grad: torch.Tensor | None
    grad_content: torch.Tensor | None

    @property
    def memory(self) -> int:
        """Return the address of this memory; 0 if it cannot be accessed."""
        return _memory(self.tensor)[0]

    def put_back(self) -> None:
        """Restore the tensor in place: the same object with the same memory.

        Raises:
            RuntimeError: PyTorch refuses, for instance to detach a view in place.
        """
        tensor = self.tensor
        with torch.no_grad():
            if _layout(tensor) != _layout(self.data):
                if tensor.is_leaf:
                    tensor.grad = None  # its type must match the tensor's
                tensor.data = self.data
            if 0 < self.bytes > _memory(self.data)[1]:
                self.data.untyped_storage().resize_(self.bytes)
            if tensor.layout is not torch.strided:
                tensor.data = self.content.clone()  # its memory cannot be written as a whole
            elif not _same_bits(tensor, self.content):
                tensor.detach().copy_(self.content)
            if self.grad is not None and self.grad_content is not None:
                self.grad.copy_(self.grad_content)
        if self.grad_fn is None:
            self._put_back_as_leaf()
            return
        if tensor.retains_grad:
            tensor.grad = self.grad
        if tensor.grad_fn is not self.grad_fn:
            raise RuntimeError("its values are as they were, but not the graph that it belongs to")

    def _put_back_as_leaf(self) -> None:
        tensor = self.tensor
        if not tensor.is_leaf:
            tensor.detach_()
        if tensor.requires_grad != self.requires_grad:
            tensor.requires_grad_(self.requires_grad)
        tensor.grad = self.grad


def keep(path: str, tensor: torch.Tensor) -> Tensor:
    """Save the current state of a tensor."""
    grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    return Tensor(
        path,
        tensor,
        tensor.data,
        _memory(tensor)[1],
        tensor.detach().clone(),
        tensor.requires_grad,
        tensor.grad_fn,
        grad,
        None if grad is None else grad.detach().clone(),
    )


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    kind = tensor.shape, tensor.dtype, tensor.device, tensor.layout
    if tensor.layout is not torch.strided:
        return kind
    return *kind, tensor.stride(), tensor.storage_offset(), *_memory(tensor)


def _memory(tensor: torch.Tensor) -> tuple[int, int]:
    """Return the address and size of a tensor's memory; 0 if it cannot be accessed."""
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    except (RuntimeError, NotImplementedError):  # a non-strided layout, or a wrapper subclass
        return 0, 0


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.is_meta or one.shape != other.shape:
        return False
    return bool(torch.equal(one.detach(), other))
