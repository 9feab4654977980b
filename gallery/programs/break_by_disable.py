# SPDX-License-Identifier: Apache-2.0
"""`torch.compiler.disable` asks for a break: the function runs eagerly between two graphs.

Look at the finding: a break that was asked for is told as one.
"""

import torch

FAMILY = "break"
BACKEND = "aot_eager"


@torch.compiler.disable
def by_hand(x):
    return x.flip(0)


@torch.compile(backend=BACKEND)
def around(x):
    y = torch.sin(x)
    y = by_hand(y)
    return y * 2


def main():
    torch.manual_seed(0)
    x = torch.randn(5, requires_grad=True)
    y = around(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
