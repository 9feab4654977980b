"""After pytorch/pytorch#196198 (2026): a number is read from a tensor, where no break may be."""

import torch


@torch.compile(backend="eager", fullgraph=True)
def scaled(x):
    return x * x.max().item()


scaled(torch.ones(3))
