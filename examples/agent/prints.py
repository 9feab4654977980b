# SPDX-License-Identifier: Apache-2.0
"""Two graph breaks: a value is printed, and another one becomes a Python number."""

import torch


@torch.compile(backend="eager")
def step(x):
    loss = (torch.tanh(x) ** 2).sum()
    print("loss", loss)
    scale = loss.item()
    return x / scale


torch.manual_seed(0)
for _ in range(2):
    step(torch.randn(4, 8))
