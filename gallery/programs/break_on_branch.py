# SPDX-License-Identifier: Apache-2.0
"""A branch on the value of a tensor: the frame is cut in two at the `if`.

Look at the break in the page, and at the transformed code of `forward`: the graph returns the
condition, and two resume functions are what the arms have become.
"""

import torch

FAMILY = "break"
BACKEND = "aot_eager"


class Gate(torch.nn.Module):
    """Two layers, of which the sign of a sum chooses one."""

    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        x = torch.tanh(x)
        if x.sum() > 0:
            return self.left(x)
        return self.right(x)


def main():
    torch.manual_seed(0)
    model = Gate()
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(3, 4, requires_grad=True)
    outputs = [compiled(x), compiled(-x)]
    sum(output.square().sum() for output in outputs).backward()
    gradients = {name: p.grad for name, p in model.named_parameters()}
    return {"outputs": outputs, "gradients": {**gradients, "x": x.grad}}
