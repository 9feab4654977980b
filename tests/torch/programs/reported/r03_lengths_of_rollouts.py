"""After pytorch/torchtitan#2823 (2026): the longest rollout is an int, and differs each time."""

import torch


@torch.compile(backend="eager")
def attend(q, longest):
    scale = 1.0 / longest
    return (q * scale).softmax(-1)


for length in (17, 23, 31):
    attend(torch.ones(4, 8), length)
