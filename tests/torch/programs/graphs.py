"""Functions whose graphs take, read and hold all kinds of things."""

import numpy as np
import torch

TABLE = torch.tensor([0.5, -1.0, 2.0])


def indexed(x, rows, mask):
    return torch.where(mask, x[rows].t(), x.sum()) * TABLE[0]


def scaled(x, factor: int):
    return (x * factor).relu()


def checkpointed(x):
    return torch.utils.checkpoint.checkpoint(lambda y: y.sin().cos(), x, use_reentrant=False)


def written_to(x):
    x[0].add_(1)
    return x.sum()


def hooked(x):
    y = x * 3
    y.register_hook(lambda g: g * 10)
    return y.sum()


def flipped(x):
    return np.flip(x.numpy(), 0) + np.float32(1)


def own_operator(x):
    return torch.ops.pellucid_tests.twice(x).cos()


def register_own_operator():
    library = torch.library.Library("pellucid_tests", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    library.impl("twice", torch.empty_like, "Meta")
    return library


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 6)
        self.rest = torch.nn.Sequential(torch.nn.LayerNorm(6), torch.nn.Linear(6, 2))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):
        return self.rest(self.first(x).relu()) + self.shift
