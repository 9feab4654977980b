import torch


@torch.compile(backend="aot_eager", dynamic=False)
def score(x, temperature):
    return torch.softmax(x / temperature, dim=-1)


for length in (8, 12, 16):
    x = torch.ones(2, length)
    torch._dynamo.maybe_mark_dynamic(x, 1)
    score(x, torch.tensor(1.0))
x = torch.ones(2, 16)
torch._dynamo.maybe_mark_dynamic(x, 1)
score(x, torch.tensor(0.5))
score(torch.ones(2, 16, dtype=torch.float64).float(), torch.tensor(0.5))
