# SPDX-License-Identifier: Apache-2.0
"""A list that the function appends to: the graph computes, and Dynamo's code appends afterwards.

Look at the transformed code: the effect is a line of its own behind the graph, in the right order.
"""

import torch

FAMILY = "effect"
BACKEND = "aot_eager"
LOSSES = []


class Recorder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.kept = []
        self.table = {}

    def forward(self, x):
        y = torch.relu(self.linear(x))
        self.kept.append(y)
        self.table["last"] = y.sum()
        LOSSES.append(y.mean())
        return y * 2


def main():
    torch.manual_seed(0)
    model = Recorder()
    compiled = torch.compile(model, backend=BACKEND)
    y = compiled(torch.randn(2, 3))
    (y.sum() + model.table["last"] + LOSSES[0]).backward()
    gradients = [p.grad for p in model.parameters()]
    return {"output": y, "kept": model.kept, "losses": LOSSES, "gradients": gradients}
