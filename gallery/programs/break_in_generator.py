# SPDX-License-Identifier: Apache-2.0
"""A generator that is consumed inside is traced; a break in one costs the function around it.

Look at the finding: it names the line inside the generator, and all that runs uncompiled for it.
"""

import torch

FAMILY = "break"
BACKEND = "aot_eager"


def powers(x, count):
    for n in range(1, count + 1):
        yield x**n


def chatty_powers(x, count):
    for n in range(1, count + 1):
        print("power", n)
        yield x**n


@torch.compile(backend=BACKEND)
def series(x):
    return sum(powers(x, 3))


@torch.compile(backend=BACKEND)
def chatty_series(x):
    return sum(chatty_powers(torch.tanh(x), 3))


def main():
    torch.manual_seed(0)
    x = torch.randn(4, requires_grad=True)
    outputs = [series(x), chatty_series(x)]
    (outputs[0].sum() + outputs[1].sum()).backward()
    return {"outputs": outputs, "gradient": x.grad}
