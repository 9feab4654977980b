"""Functions whose frames have what few programs give Dynamo to write down."""

import collections

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


class Filled(collections.OrderedDict):
    def __init__(self, x, y):
        super().__init__()
        self["x"], self["y"] = x, y


class Holder:
    items = None


HELD = Holder()
HELD.items = [0] * 8


def fills_a_dictionary_and_a_list(x):
    """The list's new items wait on the stack for the loop that fills the dictionary."""
    HELD.items.remove(0)
    HELD.sum = x + 1
    return Filled(x + 1, x * 2)


class Comprehends(torch.nn.Module):
    @torch._dynamo.disable(recursive=False)
    def forward(self, x):
        # Before Python 3.12 this is a frame of its own, with an argument called `.0`.
        return sum([i * torch.cos(x) for i in range(4)])


comprehends = Comprehends()


def calls_a_comprehension(x):
    return comprehends(x)


def indexes_with_a_slice_that_is_a_constant(x):
    y = torch.stack([x, x])
    return y[y.sum(1) > 0, :] + 1
