# SPDX-License-Identifier: Apache-2.0
"""A function that torch leaves alone without an error: a generator function runs as it was written.

Look at what the page says is not compiled: `torch.compile` was called, and nothing came of it.
"""

import torch

FAMILY = "eager"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def chunks(x):
    for part in x.split(2):
        yield torch.tanh(part)


@torch.compile(backend=BACKEND)
def whole(x):
    return torch.tanh(x).sum()


def main():
    torch.manual_seed(0)
    x = torch.randn(6, requires_grad=True)
    outputs = [*chunks(x), whole(x)]
    sum(output.sum() for output in outputs).backward()
    return {"outputs": outputs, "gradient": x.grad}
