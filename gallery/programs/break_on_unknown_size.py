# SPDX-License-Identifier: Apache-2.0
"""`nonzero` makes a tensor whose size depends on values: no graph can say its shape.

Look at the finding: it names `capture_dynamic_output_shape_ops`; a mask keeps the graph whole.
"""

import torch

FAMILY = "break"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def positives(x):
    where = torch.nonzero(torch.sin(x) > 0).flatten()
    return x[where] * 2


@torch.compile(backend=BACKEND)
def masked(x):
    return torch.where(torch.sin(x) > 0, x * 2, torch.zeros_like(x))


def main():
    torch.manual_seed(0)
    x = torch.randn(9, requires_grad=True)
    outputs = [positives(x), masked(x)]
    sum(output.sum() for output in outputs).backward()
    return {"outputs": outputs, "gradient": x.grad}
