# SPDX-License-Identifier: Apache-2.0
"""A sum in bfloat16: eager code rounds after every operation, Inductor's kernel once at the end.

Look at the kernel: it computes in float and converts at the store. The finding says so; what comes
out differs from eager code, and is nearer to what float64 gives.
"""

import torch

FAMILY = "numerics"
BACKEND = "inductor"


def chain(x):
    y = x * 1.01
    for _ in range(3):
        y = y + x * 0.37
    return y.sum(-1)


def main():
    torch.manual_seed(0)
    x = torch.randn(16, 32).to(torch.bfloat16)
    with torch.no_grad():
        output = torch.compile(chain, backend=BACKEND)(x)
        eager = chain(x)
        exact = chain(x.double())
    return {
        "output": output,
        "differs from eager": bool((output != eager).any()),
        "nearer to float64": bool((output - exact).abs().sum() <= (eager - exact).abs().sum()),
    }
