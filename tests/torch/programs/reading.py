"""Functions whose transformed frames mention what nobody chose: constants, cells, the stack."""

import logging

import torch

LOG = logging.getLogger("pellucid_tests.reading")


def reports(x):
    y = x.sin()
    print(f"sizes {tuple(x.shape)}, mean {y.mean():.3f}")
    z = y * 2
    LOG.info("after scaling: %s", z.shape)
    return z + 1


def asks(x):
    first = x.tolist()[0]
    return x + first


def stops(x):
    for step in range(1, 9):
        x = x * 0.5
        if x.abs().max() < 0.3:
            return x, step
    return x, None


def halves(x, count):
    for _ in range(count):
        x = x / 2
        yield x


def gives_a_generator(x):
    return halves(x, 2), x * 2


def makes(x):
    y = x + 1

    def scale(z, by=2):
        return z * by + y

    return scale, y.cos(), torch.Size([2, 3])


def decides(x):
    y = x * 2
    torch._dynamo.graph_break()
    if x.shape[0] > 3:
        torch._dynamo.graph_break()
    return y


class Tool:
    def __call__(self, x):
        return x * 3


def plus(x, y):
    return x + y
