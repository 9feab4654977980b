"""After pytorch/torchtitan#2823 (2026): a function is made on the first call, and was None."""

import torch


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(4, 4)
        self.mapped = None

    def forward(self, x):
        if self.mapped is None:
            self.mapped = torch.nn.functional.gelu
        return self.mapped(self.line(x))


attention = torch.compile(Attention(), backend="eager")
for _ in range(3):
    attention(torch.ones(2, 4))
