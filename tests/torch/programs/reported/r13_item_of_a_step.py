"""After pytorch/pytorch#185382 (2026): a loop of updates that read a step counter with item()."""

import torch


def update(param, grad, first, second, step):
    step.add_(1)
    first.lerp_(grad, 0.1)
    second.mul_(0.99).addcmul_(grad, grad, value=0.01)
    n = step.item()
    scale = 0.01 / (1 - 0.9**n)
    param.addcdiv_(first, second.sqrt().add_(1e-8), value=-scale)


@torch.compile(backend="eager")
def steps(param, grad, first, second, step):
    for _ in range(3):
        update(param, grad, first, second, step)
    return param


torch.manual_seed(0)
p, g = torch.randn(4), torch.randn(4)
m, v, s = torch.zeros(4), torch.zeros(4), torch.tensor(0.0)
for _ in range(3):
    print(float(steps(p, g, m, v, s).sum()))
