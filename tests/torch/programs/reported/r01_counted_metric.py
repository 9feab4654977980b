"""After meta-pytorch/torchrec#4338 (2026): a metric counts its updates in an int on the module."""

import torch


class Metric(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()))
        self.updates = 0

    def forward(self, scores):
        self.updates += 1
        self.total += scores.sum()
        return self.total / self.updates


metric = torch.compile(Metric(), backend="eager", fullgraph=True)
for _ in range(12):
    metric(torch.ones(3))
