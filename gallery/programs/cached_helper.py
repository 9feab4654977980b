# SPDX-License-Identifier: Apache-2.0
"""`functools.lru_cache` around a helper: Dynamo traces the body and passes the cache by.

Look at the captured graph: it has the helper's operations, at every call; the cache stays empty.
"""

import functools

import torch

FAMILY = "effect"
BACKEND = "aot_eager"


@functools.lru_cache(maxsize=None)
def table(size):
    return torch.arange(size) / size


@torch.compile(backend=BACKEND)
def positions(x):
    return x + table(x.shape[-1])


def main():
    torch.manual_seed(0)
    x = torch.randn(2, 4, requires_grad=True)
    y = positions(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad, "cached": table.cache_info().currsize}
