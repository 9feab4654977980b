import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        y = self.linear(x)
        if y.mean() > 0:
            y = y - y.mean()
        return torch.relu(y)
