import pellucid
import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x):
        x = torch.relu(self.inner(x))
        x = torch.log(x)
        return x - x.mean()


torch.manual_seed(0)
model = torch.compile(Head(), backend="aot_eager")
print(pellucid.find_nan(model, torch.randn(3, 8)))
