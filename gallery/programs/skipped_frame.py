# SPDX-License-Identifier: Apache-2.0
"""A break inside a loop: torch gives up the whole frame and runs it eagerly, callees apart.

Look at the findings: the share of lines that no graph has, and the function that is called in the
loop, which is compiled by itself.
"""

import torch

FAMILY = "eager"
BACKEND = "aot_eager"


def layer(x):
    return torch.relu(x) + 0.5


@torch.compile(backend=BACKEND)
def until_large(x):
    for _ in range(5):
        x = layer(x)
        if x.sum() > 20:
            break
    return x


def main():
    torch.manual_seed(0)
    x = torch.randn(10, requires_grad=True)
    y = until_large(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
