# SPDX-License-Identifier: Apache-2.0
"""A break inside `try`: torch cannot go on there, so that the whole function runs uncompiled.

Look at the finding: one `print` costs every line of the function. Without it the `try` is traced.
"""

import torch

FAMILY = "eager"
BACKEND = "aot_eager"
NOTES = []


@torch.compile(backend=BACKEND)
def careful(x, table, key):
    y = torch.relu(x)
    try:
        print("looking", key)
        y = y * table[key]
    except KeyError:
        y = y + 100
    finally:
        NOTES.append(key)
    return y - 1


@torch.compile(backend=BACKEND)
def quiet(x, table, key):
    y = torch.relu(x)
    try:
        y = y * table[key]
    except KeyError:
        y = y + 100
    return y - 1


def main():
    torch.manual_seed(0)
    table = {"known": 2.0}
    x = torch.randn(4, requires_grad=True)
    outputs = [function(x, table, key) for function in (careful, quiet) for key in ("known", "new")]
    sum(output.sum() for output in outputs).backward()
    return {"outputs": outputs, "gradient": x.grad, "notes": NOTES}
