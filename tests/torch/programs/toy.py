"""The example of depyf's README."""

import torch


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def run(backend, dynamic, grad, steps=100):
    """Run the compiled example; return all results and gradients."""
    torch.manual_seed(0)
    compiled = torch.compile(toy_example, backend=backend, dynamic=dynamic)
    results = []
    for _ in range(steps):
        a, b = torch.randn(10, requires_grad=grad), torch.randn(10)
        result = compiled(a, b)
        results.append(result.detach())
        if grad:
            result.sum().backward()
            results.append(a.grad)
    return results
