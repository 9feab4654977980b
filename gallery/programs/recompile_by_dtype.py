# SPDX-License-Identifier: Apache-2.0
"""The same function with float32, float64 and bfloat16: three versions, and rightly so.

Look at the guards: `dtype` is the first that differs. There is nothing to mend but the caller.
"""

import torch

FAMILY = "recompile"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def soften(x):
    return torch.softmax(x * 2, -1)


def main():
    torch.manual_seed(0)
    x = torch.randn(3, 4, dtype=torch.float64)
    kinds = (torch.float32, torch.float64, torch.bfloat16)
    return {"outputs": [soften(x.to(kind)) for kind in kinds]}
