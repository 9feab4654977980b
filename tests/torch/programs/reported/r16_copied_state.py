"""After pytorch/pytorch#115122 (asked again in 2026): deepcopy of a dict of tensors."""

import copy

import torch


@torch.compile(backend="eager")
def blend(state, new):
    old = copy.deepcopy(state)
    for name in new:
        old[name].mul_(0.9).add_(new[name], alpha=0.1)
    return old


torch.manual_seed(0)
state = {"w": torch.randn(3), "b": torch.randn(3)}
for _ in range(3):
    state = blend(state, {"w": torch.ones(3), "b": torch.ones(3)})
print(float(state["w"].sum()))
