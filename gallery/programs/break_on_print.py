# SPDX-License-Identifier: Apache-2.0
"""`print`, `logging` and `warnings` inside: each is a break of its own.

Look at the order in the transformed code: what is printed appears between the graphs, where it did.
"""

import logging
import warnings

import torch

FAMILY = "break"
BACKEND = "aot_eager"
log = logging.getLogger("gallery")


@torch.compile(backend=BACKEND)
def step(x):
    y = torch.sin(x)
    print("after the sine:", y.shape)
    y = y * 2
    log.warning("after the product")
    y = y + x
    warnings.warn("after the sum", stacklevel=1)
    return torch.cos(y)


def main():
    torch.manual_seed(0)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    x = torch.randn(4, requires_grad=True)
    y = step(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
