# SPDX-License-Identifier: Apache-2.0
"""The model of ``pellucid demo``: a transformer block with a data-dependent branch."""

from __future__ import annotations

import torch
from torch import nn


class Block(nn.Module):
    """Attention and an MLP with residual connections; large activations are scaled down."""

    def __init__(self, width: int = 32, heads: int = 4, limit: float = 0.5) -> None:
        super().__init__()
        self.heads, self.limit = heads, limit
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.project(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm_in(x))
        # The branch depends on the values of x, so the compiler has to stop the graph here.
        if x.abs().mean() > self.limit:
            x = x * self.limit
        return x + self.mlp(self.norm_out(x))
