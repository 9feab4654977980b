"""A model whose values reach a compiled graph in each way: parameters, a buffer, an argument's."""

import torch


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 2))
        self.scale = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x, more):
        y = self.layers(x)
        y = y * self.scale
        return y - self.mean + more["bias"]
