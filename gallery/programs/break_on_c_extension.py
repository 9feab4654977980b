# SPDX-License-Identifier: Apache-2.0
"""A function that is written in C, `zlib.crc32`: Dynamo cannot look into it, and cuts before it.

Look at the remedy: an operator of one's own (see custom_op) keeps the graph whole.
"""

import zlib

import torch

FAMILY = "break"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def tagged(x, name):
    y = torch.sigmoid(x)
    return y + zlib.crc32(name) % 7


def main():
    torch.manual_seed(0)
    x = torch.randn(5, requires_grad=True)
    y = tagged(x, b"layer")
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
