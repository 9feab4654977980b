# SPDX-License-Identifier: Apache-2.0
"""A gradient that is NaN though the output is not: `where` hides it forward, and not backward.

Look at the backward graph: 0 times infinity, in the arm that `where` does not take.
`find_nan` names the line.
"""

import torch

FAMILY = "numerics"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def safe_root(x):
    return torch.where(x > 0, torch.sqrt(x), torch.zeros_like(x))


def main():
    x = torch.tensor([4.0, 0.0, 1.0, -1.0], requires_grad=True)
    y = safe_root(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
