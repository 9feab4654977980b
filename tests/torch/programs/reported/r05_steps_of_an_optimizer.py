"""After huggingface/pytorch-image-models#2704 (2026): an optimizer counts its steps in an int."""

import torch


class Averaged:
    def __init__(self, weight):
        self.weight, self.step = weight, 0

    def update(self, grad):
        self.step += 1
        self.weight.sub_(grad / self.step)
        return self.weight


averaged = Averaged(torch.ones(3))
update = torch.compile(averaged.update, backend="eager")
for _ in range(4):
    update(torch.ones(3))
