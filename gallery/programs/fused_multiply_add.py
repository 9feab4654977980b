# SPDX-License-Identifier: Apache-2.0
"""`a * b + c` in one kernel: a processor that fuses the two rounds once, eager code twice.

Look at the C++ of the kernel: one expression, whose rounding is the compiler's to choose.
"""

import torch

FAMILY = "numerics"
BACKEND = "inductor"


def line(a, b, c):
    return a * b + c


def main():
    torch.manual_seed(0)
    a, b, c = (torch.randn(4, 64) for _ in range(3))
    with torch.no_grad():
        output = torch.compile(line, backend=BACKEND)(a, b, c)
    return {"output": output, "close": bool(torch.allclose(output, a * b + c))}
