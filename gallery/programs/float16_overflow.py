# SPDX-License-Identifier: Apache-2.0
"""float16 ends at 65504: a sum of squares is infinite, its root too, and the quotient is NaN.

Look at the graph for the first operation whose result is infinite: do that one in float32.
"""

import torch

FAMILY = "numerics"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def normalise(x):
    return x / x.square().sum(-1, keepdim=True).sqrt() * x.square().sum().clamp(max=1)


@torch.compile(backend=BACKEND)
def normalise_in_float32(x):
    wide = x.float()
    return (wide / wide.square().sum(-1, keepdim=True).sqrt()).to(x.dtype)


def main():
    torch.manual_seed(0)
    x = (torch.randn(2, 16) * 300).to(torch.float16)
    return {"narrow": normalise(x), "wide": normalise_in_float32(x)}
