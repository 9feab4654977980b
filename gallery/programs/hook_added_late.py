# SPDX-License-Identifier: Apache-2.0
"""A forward hook that is added after the first call: there is no guard on it, and it does not run.

Look at the finding of kind hook: torch does not say so, and eager code would have run it.
"""

import torch

FAMILY = "effect"
BACKEND = "aot_eager"
KEPT = []  # what is watched has to be there when the capture ends
HEARD = []


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.relu(self.first(x))


def main():
    torch.manual_seed(0)
    model = Layers()
    compiled = torch.compile(model, backend=BACKEND)
    KEPT.append(model)
    x = torch.randn(2, 3)
    outputs = [compiled(x)]
    model.first.register_forward_hook(lambda module, args, output: HEARD.append("called"))
    outputs.append(compiled(x))
    return {"outputs": outputs, "heard": HEARD}
