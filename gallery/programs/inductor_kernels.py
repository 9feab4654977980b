# SPDX-License-Identifier: Apache-2.0
"""The same kind of block under Inductor: programs and C++ kernels, forward and backward.

Look at a kernel's lines: each says which operations, and which line of yours, it stands for.
"""

import torch

FAMILY = "models"
BACKEND = "inductor"


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        return torch.log_softmax(self.second(torch.nn.functional.silu(self.first(x))), -1)


def main():
    torch.manual_seed(0)
    model = Perceptron()
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(4, 8)
    y = compiled(x)
    y[:, 1].mean().backward()
    return {"output": y, "gradients": {name: p.grad for name, p in model.named_parameters()}}
