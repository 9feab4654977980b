"""After pytorch/pytorch#93724: a module appends to a list in each call."""

import torch


class Watched(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(3, 3)
        self.norms = []

    def forward(self, x):
        y = self.line(x)
        self.norms.append(y.detach().norm())
        return y.tanh()


torch.manual_seed(0)
model = torch.compile(Watched(), backend="eager")
x = torch.randn(2, 3)
for _ in range(12):
    x = model(x)
print(float(x.sum()), len(model.norms))
