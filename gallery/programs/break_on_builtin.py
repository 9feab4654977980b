# SPDX-License-Identifier: Apache-2.0
"""A built-in function that Dynamo does not trace, `memoryview`: a break on its line.

Look at the cause in words, and at what is computed before the line and after it.
"""

import torch

FAMILY = "break"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def by_length(x, name):
    y = torch.relu(x)
    factor = len(memoryview(name))
    return y * factor


def main():
    torch.manual_seed(0)
    x = torch.randn(5, requires_grad=True)
    y = by_length(x, b"layer")
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
