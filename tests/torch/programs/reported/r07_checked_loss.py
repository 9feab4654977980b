"""After pytorch/pytorch#194503 (2026): a loss of torch's tests a tensor, where no break may be."""

import torch


@torch.compile(backend="eager", fullgraph=True)
def loss(mean, target, spread):
    return torch.nn.functional.gaussian_nll_loss(mean, target, spread)


loss(torch.zeros(2, 3), torch.ones(2, 3), torch.ones(2, 3))
