# SPDX-License-Identifier: Apache-2.0
"""`mark_dynamic` before the first call: one version takes every batch.

Look at the guards: none on the first dimension but that it is at least 2. See recompile_by_shape.
"""

import torch

FAMILY = "shapes"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def normalise(x):
    return (x - x.mean(0)) / x.shape[0]


def main():
    torch.manual_seed(0)
    inputs = [torch.randn(n, 3, requires_grad=True) for n in (4, 5, 9)]
    torch._dynamo.mark_dynamic(inputs[0], 0)
    outputs = [normalise(x) for x in inputs]
    sum(output.square().sum() for output in outputs).backward()
    return {"outputs": outputs, "gradients": [x.grad for x in inputs]}
