# SPDX-License-Identifier: Apache-2.0
"""An operator of one's own with a fake kernel: what Dynamo cannot look into stays in one graph.

Look at the captured graph: `gallery.reversed_sum` is one node, its gradient formula another.
"""

import torch

FAMILY = "operators"
BACKEND = "aot_eager"


@torch.library.custom_op("gallery::reversed_sum", mutates_args=())
def reversed_sum(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy()[::-1].cumsum().copy())


@reversed_sum.register_fake
def _(x):
    return torch.empty_like(x)


def backward(context, gradient):
    return gradient.cumsum(0).flip(0)


reversed_sum.register_autograd(backward)


@torch.compile(backend=BACKEND, fullgraph=True)
def work(x):
    return reversed_sum(torch.sin(x)) * 2


def main():
    torch.manual_seed(0)
    x = torch.randn(5, requires_grad=True)
    y = work(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
