"""Functions for whose frames Dynamo writes what has no effect."""

from collections import OrderedDict

import torch


def breaks(x):
    torch._dynamo.graph_break()
    return x + 1


def lists(x):
    """Breaks inside of a comprehension while the callee lies on the stack, with a NULL (3.12+)."""
    return added(x, more=[breaks(x) for _ in range(2)])


def added(x, more):
    return x + more[0] + more[1]


def argument_in_a_cell(x, n):
    """Has an inner function refer to arguments, which Dynamo stores back into their cells."""

    def inner():
        return x * n

    y = x + 1
    torch._dynamo.graph_break()
    return y + inner()


def changed_in_a_cell(x, n):
    """Changes one of them, which must stay."""
    n = n + 1

    def inner(y):
        return breaks(y) * n

    return inner(x) + n


class Held:
    """What a frame changes: an ordered dict, which is filled anew, and an attribute."""

    def __init__(self):
        self.ordered = OrderedDict()
        self.emptied = [3]


def filled_and_emptied(x, held):
    held.ordered[1] = 0
    held.emptied = []
    return x + 1
