# SPDX-License-Identifier: Apache-2.0
"""A recompile: a Python number changes between calls."""

import torch


@torch.compile(backend="eager")
def step(x, rate):
    return x - rate * x.mean()


torch.manual_seed(0)
for number in range(3):
    step(torch.randn(4, 8), 0.1 * number)
