# SPDX-License-Identifier: Apache-2.0
"""A transformer block in training: one frame, one graph, no break. What a good capture looks like.

Look at the picture of the graph by modules, and at what is saved for the backward pass.
"""

import torch

FAMILY = "models"
BACKEND = "aot_eager"


class Block(torch.nn.Module):
    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.packed, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.rest = torch.nn.Sequential(
            torch.nn.Linear(width, 32), torch.nn.GELU(), torch.nn.Linear(32, width)
        )

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.packed(self.norms[0](x)).reshape(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.rest(self.norms[1](x))


def main():
    torch.manual_seed(0)
    model = Block()
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(2, 5, 16)
    y = compiled(x)
    y.square().mean().backward()
    return {"output": y, "gradients": {name: p.grad for name, p in model.named_parameters()}}
