"""Functions whose frames have what few programs give Dynamo to write down."""

import torch


class Made(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.power = 3

    def forward(self, x):
        return x**self.power


def makes_a_module(x):
    """Its sets and dictionaries are built in the frame, the empty ones among them."""
    module = Made()
    return module(x), module


def looks_a_frozenset_up(x):
    key, empty = frozenset([1, 2]), frozenset()
    torch._dynamo.graph_break()
    return x * {frozenset(): 2, frozenset([1, 2]): 3}[key], empty, 1 in key


def empty_set_beside_a_graph_break(x):
    seen = set()
    torch._dynamo.graph_break()
    seen.add(4)
    return x + 1, seen


def returns_a_module_of_torch(x):
    return x + 1, torch.get_device_module("cpu")


class Comprehends(torch.nn.Module):
    @torch._dynamo.disable(recursive=False)
    def forward(self, x):
        # Before Python 3.12 this is a frame of its own, with an argument called `.0`.
        return sum([i * torch.cos(x) for i in range(4)])


comprehends = Comprehends()


def calls_a_comprehension(x):
    return comprehends(x)
