# SPDX-License-Identifier: Apache-2.0
"""`torch.autograd.Function` with a backward of its own: Dynamo traces both into one graph.

Look at the captured graph: `autograd_function_apply` holds a forward and a backward graph inside.
"""

import torch

FAMILY = "operators"
BACKEND = "aot_eager"


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(context, x, limit):
        context.save_for_backward(x)
        context.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return gradient * (x.abs() <= context.limit) * 0.5, None


@torch.compile(backend=BACKEND)
def work(x):
    return Clipped.apply(x * 2, 1.0).sin()


def main():
    torch.manual_seed(0)
    x = torch.randn(6, requires_grad=True)
    y = work(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
