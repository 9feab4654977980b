# SPDX-License-Identifier: Apache-2.0
"""An integer argument: its value is a constant of the first version, and a symbol of the second.

Look at the guards: `n == 2` in [0/0], none on the value in [0/1]. The third value compiles nothing.
"""

import torch

FAMILY = "recompile"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def power(x, n):
    return torch.sin(x) * n


def main():
    torch.manual_seed(0)
    x = torch.randn(4, requires_grad=True)
    outputs = [power(x, n) for n in (2, 3, 7)]
    sum(output.sum() for output in outputs).backward()
    return {"outputs": outputs, "gradient": x.grad}
