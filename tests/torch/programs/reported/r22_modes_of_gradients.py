"""After pytorch/pytorch#148983 (2025): training, then evaluation in two modes."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(self.line(x)).sum()


torch.manual_seed(0)
net = Net()
model = torch.compile(net, backend="aot_eager")
for _ in range(2):
    net.train()
    model(torch.ones(2, 3)).backward()
    net.eval()
    with torch.no_grad():
        model(torch.ones(2, 3))
    with torch.inference_mode():
        print(float(model(torch.ones(2, 3))))
