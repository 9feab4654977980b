import torch


@torch.compile(backend="aot_eager")
def step(x, weight, losses):
    y = torch.tanh(x @ weight)
    if y.mean() > 0:
        y = y - y.mean()
    loss = (y * y).sum()
    losses.append(loss.item())
    print("steps", len(losses))
    return loss / len(losses)


torch.manual_seed(0)
losses = []
for _ in range(3):
    step(torch.randn(4, 8), torch.randn(8, 8), losses)
