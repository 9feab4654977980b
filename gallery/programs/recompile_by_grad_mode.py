# SPDX-License-Identifier: Apache-2.0
"""Training, `no_grad`, and an input that wants no gradient: three versions of one function.

Look at what each has: only the first has a backward graph, and the guards say why.
"""

import torch

FAMILY = "recompile"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def score(x, w):
    return torch.tanh(x @ w).sum()


def main():
    torch.manual_seed(0)
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    trained = score(x, w)
    trained.backward()
    with torch.no_grad():
        evaluated = score(x, w)
    frozen = score(x.detach(), w.detach())
    return {"outputs": [trained.detach(), evaluated, frozen], "gradients": [x.grad, w.grad]}
