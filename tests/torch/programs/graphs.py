"""Functions whose graphs take, read and hold all kinds of things."""

import torch

TABLE = torch.tensor([0.5, -1.0, 2.0])


def indexed(x, rows, mask):
    return torch.where(mask, x[rows].t(), x.sum()) * TABLE[0]


def scaled(x, factor: int):
    return (x * factor).relu()


def checkpointed(x):
    return torch.utils.checkpoint.checkpoint(lambda y: y.sin().cos(), x, use_reentrant=False)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 6)
        self.rest = torch.nn.Sequential(torch.nn.LayerNorm(6), torch.nn.Linear(6, 2))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):
        return self.rest(self.first(x).relu()) + self.shift
