# SPDX-License-Identifier: Apache-2.0
"""A module counts its calls in an attribute: every call fails the guard on the count.

Look at the finding: the attribute, the values it had, and the limit that this runs into.
"""

import torch

FAMILY = "recompile"
BACKEND = "aot_eager"


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)
        self.step = "start"

    def forward(self, x):
        if self.step == "start":
            self.step = "middle"
            return self.linear(x)
        self.step = "end" if self.step == "middle" else self.step
        return self.linear(x) * 2


def main():
    torch.manual_seed(0)
    model = Counting()
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(3, 4)
    outputs = [compiled(x) for _ in range(4)]
    sum(output.square().sum() for output in outputs).backward()
    gradients = [p.grad for p in model.parameters()]
    return {"outputs": outputs, "gradients": gradients, "step": model.step}
