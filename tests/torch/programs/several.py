"""Small functions, each for one thing that a capture must show."""

import torch


def plain(x):
    return x.sin() + 1


def sized(x):
    return x * x.shape[0]


def raises(x):
    y = x + 1
    torch._dynamo.graph_break()
    raise ValueError(f"the sum is {y.sum().item()}")


def closes(y):
    def inner(x):
        torch._dynamo.graph_break()
        return x + y

    return inner


def flagged(x, flag=True, *, scale=2):
    return x * scale if flag else -x


def trains(x):
    w = torch.ones(3, requires_grad=True)
    loss = (x * w).sum()
    loss.backward()
    return w.grad * 2


def counts():
    calls = 0

    def step(x):
        nonlocal calls
        calls += 1
        torch._dynamo.graph_break()
        return x + calls

    return step, lambda: calls


def counts_on_both_sides():
    n = torch.zeros(1)

    def step(x):
        nonlocal n
        n = n + 1
        broken()
        x = x + n
        broken()
        return x + n

    return step


@torch._dynamo.disable
def broken(x=None):
    return x
