"""After pytorch/pytorch#176851 (2026): settings of a class change between the calls."""

import torch


class Settings:
    factor = 1.0
    use_bias = False


@torch.compile(backend="eager")
def scaled(x, bias):
    y = x * Settings.factor
    if Settings.use_bias:
        y = y + bias
    return y


x, bias = torch.ones(3), torch.ones(3)
for factor in (1.0, 2.0, 3.0, 4.0):
    Settings.factor = factor
    print(float(scaled(x, bias).sum()))
Settings.use_bias = True
print(float(scaled(x, bias).sum()))
