"""After microsoft/dion#23 (2026): one update is compiled for parameters of all sizes."""

import torch


@torch.compile(backend="eager")
def update(weight, grad):
    return weight - 0.1 * grad


for size in (4, 6, 8, 10):
    with torch.no_grad():
        update(torch.nn.Parameter(torch.ones(size, 3)), torch.ones(size, 3))
