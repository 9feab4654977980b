"""A graph break and a backward pass, run once in a capture and once under `debug()`."""

import sys

import pellucid
import torch

torch.set_num_threads(1)


def scaled(a, b):
    x = a * 2 + b
    if x.sum() < 0:
        x = -x
    return torch.sin(x) * b


def step(compiled):
    a = torch.full((4,), 2.0, requires_grad=True)
    b = torch.full((4,), 3.0, requires_grad=True)
    compiled(a, b).sum().backward()
    return a.grad


def main(directory, backend):
    compiled = torch.compile(scaled, backend=backend)
    with pellucid.prepare_debug(directory):
        step(compiled)
    with pellucid.debug():
        result = step(compiled)
    print("result", result[0].item())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
