# SPDX-License-Identifier: Apache-2.0
"""A buffer that is replaced later is seen; a number that was declared constant is not.

Look at the captured graph: the buffer is an input of it, and `limit` is the number 2.0 in it, which
no guard watches: the third output is what eager code gives.
"""

import torch

FAMILY = "effect"
BACKEND = "aot_eager"
SETTINGS = {"limit": 2.0}


@torch.compiler.assume_constant_result
def limit():
    return SETTINGS["limit"]


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        return (x * self.scale).clamp(max=limit())


def main():
    torch.manual_seed(0)
    model = Scale()
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(2, 3, requires_grad=True)
    before = compiled(x)
    model.scale, SETTINGS["limit"] = torch.tensor([10.0, 20.0, 30.0]), 0.5
    after, eager = compiled(x), model(x)
    (before.sum() + after.sum()).backward()
    return {"outputs": [before, after, eager], "stale": bool((after != eager).any())}
