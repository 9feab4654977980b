# SPDX-License-Identifier: Apache-2.0
"""A global that the function rebinds and reads: the write is put off to the end of the graph.

Look at the transformed code: `STEPS` is written once, with the value that the last write had.
"""

import torch

FAMILY = "effect"
BACKEND = "aot_eager"
STEPS = 0
LAST = None


@torch.compile(backend=BACKEND)
def advance(x):
    global STEPS, LAST
    STEPS += 1
    y = torch.sin(x) * STEPS
    STEPS += 10
    LAST = y
    return y + 1


def main():
    torch.manual_seed(0)
    x = torch.randn(4, requires_grad=True)
    y = advance(x)
    (y.sum() + LAST.sum()).backward()
    return {"output": y, "steps": STEPS, "last": LAST, "gradient": x.grad}
