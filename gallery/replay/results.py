# SPDX-License-Identifier: Apache-2.0
"""What a program returned, in words that can be compared."""

import hashlib
from typing import Any, Dict

import torch


def results(value: Any, name: str = "") -> Dict[str, str]:
    """What a program returned, part by part: tensors by type, shape and a hash of their bits."""
    if isinstance(value, torch.Tensor):
        return {name: digest(value)}
    if isinstance(value, dict):
        parts = {str(key): part for key, part in value.items()}
    elif isinstance(value, (list, tuple)):
        parts = {str(number): part for number, part in enumerate(value)}
    else:
        return {name: repr(value)}
    found: Dict[str, str] = {}
    for key, part in parts.items():
        found.update(results(part, f"{name}.{key}" if name else key))
    return found


def digest(tensor: torch.Tensor) -> str:
    """A tensor's type, shape and a hash of its bits; one not-a-number is like another."""
    plain = tensor.detach().cpu().contiguous()
    if plain.is_floating_point():
        plain = torch.where(plain != plain, torch.full_like(plain, float("nan")), plain)
    flat = plain.reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    kind = str(tensor.dtype).rpartition(".")[2]
    return f"{kind}{list(tensor.shape)} {hashlib.sha256(data).hexdigest()[:16]}"
