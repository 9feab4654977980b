# SPDX-License-Identifier: Apache-2.0
"""Activation checkpointing: the region is an operator of the graph, and computed again backward.

Look at the backward graph: it has the forward operations of the block once more.
"""

import torch
from torch.utils.checkpoint import checkpoint

FAMILY = "operators"
BACKEND = "aot_eager"


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(4, 16), torch.nn.Linear(16, 4)

    def inner(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))

    def forward(self, x):
        return x + checkpoint(self.inner, x, use_reentrant=False)


def main():
    torch.manual_seed(0)
    model = Block()
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(3, 4, requires_grad=True)
    y = compiled(x)
    y.square().sum().backward()
    return {"output": y, "gradients": [x.grad, *(p.grad for p in model.parameters())]}
