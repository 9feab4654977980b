# SPDX-License-Identifier: Apache-2.0
"""Random numbers inside a graph: dropout draws from the generator where eager code would.

Look at the forward graph: the mask is saved for the backward one, so that both have the same.
"""

import torch

FAMILY = "numerics"
BACKEND = "aot_eager"


class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Dropout(0.4))

    def forward(self, x):
        return self.layer(x) + torch.rand_like(x) * 0.1


def main():
    torch.manual_seed(0)
    model = Noisy()
    compiled = torch.compile(model, backend=BACKEND)
    outputs = [compiled(torch.randn(3, 6)) for _ in range(2)]
    sum(output.sum() for output in outputs).backward()
    return {"outputs": outputs, "gradients": [p.grad for p in model.parameters()]}
