# SPDX-License-Identifier: Apache-2.0
"""A line of the program fixes a dimension that was to be dynamic: it compares it with a number.

Look at the guard on `x.shape[0]` and the user's line that decided it: `x.shape[0] % 2 == 0`.
"""

import torch

FAMILY = "shapes"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND, dynamic=True)
def pairs(x):
    if x.shape[0] % 2 == 0:
        return x.reshape(-1, 2, x.shape[1]).sum(1)
    return x.cumsum(0)


@torch.compile(backend=BACKEND, dynamic=True)
def padded(x):
    return x + torch.ones(8, 3)  # only eight rows fit


def main():
    torch.manual_seed(0)
    inputs = [torch.randn(n, 3, requires_grad=True) for n in (4, 6, 7, 8)]
    outputs = [pairs(x) for x in inputs] + [padded(inputs[3])]
    sum(output.square().sum() for output in outputs).backward()
    return {"outputs": outputs, "gradients": [x.grad for x in inputs]}
