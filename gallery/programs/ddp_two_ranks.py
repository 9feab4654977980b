# SPDX-License-Identifier: Apache-2.0
"""Two ranks train one model over gloo, and one of them gets a batch of another size.

Look at the page of both ranks: rank 1 compiles a second version, which rank 0 does not have; the
first difference is named, with its guard.
"""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

FAMILY = "distributed"
BACKEND = "aot_eager"
RANKS = 2


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(Network())
    compiled = torch.compile(model, backend=BACKEND)
    outputs = []
    for step in range(2):
        rows = 5 if (rank, step) == (1, 1) else 3
        y = compiled(torch.randn(rows, 4))
        y.square().mean().backward()
        outputs.append(y)
    gradients = [p.grad for p in model.parameters()]
    dist.barrier()
    dist.destroy_process_group()
    return {"outputs": outputs, "gradients": gradients}
