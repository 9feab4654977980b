# SPDX-License-Identifier: Apache-2.0
"""A compiled optimizer step, with a learning rate that changes.

Look at the guards on `lr`: a number is a constant of the graph, a tensor is not.
"""

import torch

FAMILY = "operators"
BACKEND = "aot_eager"
KEPT = []  # torch lets go of its guards with the function


def main():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1), momentum=0.9)

    @torch.compile(backend=BACKEND)
    def step():
        optimizer.step()

    KEPT.append(step)
    for rate in (0.1, 0.05):
        model.zero_grad()
        model(torch.ones(3, 4)).square().sum().backward()
        optimizer.param_groups[0]["lr"].fill_(rate)
        step()
    return {"parameters": list(model.parameters())}
