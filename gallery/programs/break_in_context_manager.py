# SPDX-License-Identifier: Apache-2.0
"""A break inside `with torch.no_grad()`: the resume function enters the block again.

Look at the transformed code: a `try` with `finally` stands around the `print`, so that the gradient
mode is what it was on both sides, and the resume function enters the block once more.
"""

import torch

FAMILY = "break"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def block(x):
    y = x.exp()
    with torch.no_grad():
        scale = y.sum()
        print("the scale is known")
        scale = scale + 1
    return y / scale


def main():
    torch.manual_seed(0)
    x = torch.randn(6, requires_grad=True)
    y = block(x)
    y.square().sum().backward()
    return {"output": y, "gradient": x.grad}
