# SPDX-License-Identifier: Apache-2.0
"""A batch of another size: [0/0] has its size fixed, [0/1] takes any.

Look at the two graphs side by side: `s0` stands where 4 stood. `mark_dynamic` makes one of them.
"""

import torch

FAMILY = "recompile"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def normalise(x):
    return (x - x.mean(0)) / x.shape[0]


def main():
    torch.manual_seed(0)
    inputs = [torch.randn(n, 3, requires_grad=True) for n in (4, 5, 9)]
    outputs = [normalise(x) for x in inputs]
    sum(output.square().sum() for output in outputs).backward()
    return {"outputs": outputs, "gradients": [x.grad for x in inputs]}
