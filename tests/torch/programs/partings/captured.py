"""Dynamo's graphs are made to see something else than eager does."""

from typing import Dict

import torch
from torch.nn import functional as F

from .kit import fault, leaf


@fault("captured", "forward", "aten.mul.Tensor")
def another_factor(x):
    y = x.sin()
    y = y * (2.0 if torch.compiler.is_compiling() else 2.01)  # FAULT
    return y.cos().sum()


@fault("captured", "forward", "aten.relu.default", args=leaf)
def another_activation(x):
    y = x @ x.t()
    y = F.gelu(y) if torch.compiler.is_compiling() else F.relu(y)  # FAULT
    return y.sum()


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * (2.0 if not torch.compiler.is_compiling() else 3.0)  # FAULT


@fault("captured", "backward", "aten.mul.Tensor", args=leaf)
def another_gradient(x):
    y = Squared.apply(x)
    return y.sin()


@fault("captured", "forward", "Python state")
class LostAppend(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log = []

    def forward(self, x):
        y = x * 2
        if not torch.compiler.is_compiling():
            self.log.append(len(y))  # FAULT
        return y + 1


@fault("captured", "forward", "Python state")
class LostCount(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        if not torch.compiler.is_compiling():
            self.steps += 1  # FAULT
        return x + 1


SEEN: Dict[str, int] = {"calls": 0}


@fault("captured", "forward", "Python state")
def lost_entry(x):
    if not torch.compiler.is_compiling():
        SEEN["calls"] += 1  # FAULT
    return x.exp()


LAST = 0


@fault("captured", "forward", "Python state")
def new_global(x):
    global LAST
    if torch.compiler.is_compiling():
        LAST = 5  # FAULT
    return x - 1


@fault("captured", "forward", "aten.mul_.Tensor")
class StaleBuffer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.ones(16))

    def forward(self, x):
        if not torch.compiler.is_compiling():
            self.mean.mul_(0.9)  # FAULT
        return x * 2


@fault("captured", "forward", "aten.rand.default")
def drawn_once_more(x):
    if torch.compiler.is_compiling():
        x = x + torch.rand(1) * 0  # FAULT
    return x.cos()
