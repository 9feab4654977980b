"""After pytorch/pytorch#172822 (2026): a gradient is taken inside the compiled function."""

import torch


@torch.compile(backend="eager")
def slope(x):
    (grad,) = torch.autograd.grad((x * x).sum(), x)
    return grad


slope(torch.ones(3, requires_grad=True))
