import torch


@torch.compile(backend="aot_eager")
def step(x, weight):
    y = torch.tanh(x @ weight)
    y = torch.where(y.mean() > 0, y - y.mean(), y)
    return (y * y).sum()


torch.manual_seed(0)
losses = []
for _ in range(3):
    losses.append(step(torch.randn(4, 8), torch.randn(8, 8)))
