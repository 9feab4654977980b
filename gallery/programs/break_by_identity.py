# SPDX-License-Identifier: Apache-2.0
"""The identity of a tensor that is made inside, `id(y)`: it is not known before the graph has run.

Look at the finding: torch cannot make such a value anew where the graph ends, and compiles nothing.
"""

import torch

FAMILY = "eager"
BACKEND = "aot_eager"
SEEN = set()


@torch.compile(backend=BACKEND)
def remember(x):
    y = torch.relu(x)
    SEEN.add(id(y))
    return y * 3


def main():
    torch.manual_seed(0)
    x = torch.randn(5, requires_grad=True)
    y = remember(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad, "seen": len(SEEN)}
