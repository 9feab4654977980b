# SPDX-License-Identifier: Apache-2.0
"""Compiled autograd: the backward pass is captured too, as one graph over the whole of it.

Look at the graph `CompiledAutograd0`: nodes of the autograd graph by name, hooks included.
"""

import torch

FAMILY = "operators"
BACKEND = "aot_eager"


def main():
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    model.weight.register_hook(lambda gradient: gradient * 2)
    x = torch.randn(4, 3)
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend=BACKEND)):
        y = torch.tanh(model(x))
        y.sum().backward()
    return {"output": y, "gradients": [p.grad for p in model.parameters()]}
