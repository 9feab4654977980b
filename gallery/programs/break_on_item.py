# SPDX-License-Identifier: Apache-2.0
"""`.item()` takes a number out of a tensor: Dynamo has to run the graph first, and cuts here.

Look at the finding: it names the setting (`capture_scalar_outputs`) under which there is no break.
"""

import torch

FAMILY = "break"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def clip(x):
    largest = x.abs().max().item()
    return x / largest if largest > 1 else x * largest


def main():
    torch.manual_seed(0)
    x = torch.randn(8, requires_grad=True)
    y = clip(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad}
