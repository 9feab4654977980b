# SPDX-License-Identifier: Apache-2.0
"""Buffers that training writes: the running statistics of a batch norm, and a counter.

Look at the captured graph: the buffers come in as arguments, and `add_` writes one of them.
"""

import torch

FAMILY = "effect"
BACKEND = "aot_eager"


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    compiled = torch.compile(model, backend=BACKEND)
    outputs = [compiled(torch.randn(2, 3, 6, 6)) for _ in range(2)]
    sum(output.square().mean() for output in outputs).backward()
    gradients = [p.grad for p in model.parameters()]
    return {"outputs": outputs, "gradients": gradients, "buffers": list(model.buffers())}
