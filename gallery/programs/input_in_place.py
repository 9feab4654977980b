# SPDX-License-Identifier: Apache-2.0
"""An input is written to, through a view: AOTAutograd computes a new value and copies it back.

Look at the forward graph: it returns one value more than the function, which becomes the input.
"""

import torch

FAMILY = "effect"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def update(state, x):
    state[0].mul_(0.5)
    state.add_(x.sum())
    return state * 2


def main():
    torch.manual_seed(0)
    state = torch.randn(3, 2)
    x = torch.randn(4, requires_grad=True)
    y = update(state, x.detach())
    z = update(torch.zeros(3, 2), x)
    z.sum().backward()
    return {"outputs": [y, z], "state": state, "gradient": x.grad}
