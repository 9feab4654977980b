# SPDX-License-Identifier: Apache-2.0
"""A break inside a context manager of one's own: torch cannot go on there, and compiles nothing.

Look at the finding: all of the function runs uncompiled. Compare break_in_context_manager.
"""

import contextlib

import torch

FAMILY = "eager"
BACKEND = "aot_eager"
ENTERED = []


@contextlib.contextmanager
def noted(name):
    ENTERED.append(f"into {name}")
    try:
        yield
    finally:
        ENTERED.append(f"out of {name}")


def after(x):
    return torch.tanh(x) * 2


@torch.compile(backend=BACKEND)
def block(x):
    y = x.exp()
    with noted("the block"):
        y = y + 1
        print("inside")
        y = after(y)
    return y.log()


def main():
    torch.manual_seed(0)
    x = torch.randn(6, requires_grad=True)
    y = block(x)
    y.sum().backward()
    return {"output": y, "gradient": x.grad, "entered": ENTERED}
