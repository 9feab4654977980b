"""Small models of many kinds that torch compiles rightly, each with what it is called with."""

from typing import Any, Callable, Dict, Tuple

import torch
from torch import nn
from torch.nn import functional as F

MODELS: Dict[str, Callable[[], Tuple[Any, Tuple[Any, ...]]]] = {}


def model(*shape, integers=0, grad=False):
    def register(cls):
        def make():
            torch.manual_seed(0)
            made = cls()
            x = torch.randint(integers, shape) if integers else torch.randn(shape)
            return made, (x.requires_grad_() if grad else x,)

        MODELS[cls.__name__] = make
        return cls

    return register


@model(8, 12)
class Perceptron(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(12, 24), nn.GELU(), nn.Dropout(0.2), nn.Linear(24, 3))


@model(4, 3, 12, 12)
class Convolutions(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, groups=4), nn.GroupNorm(2, 8), nn.SiLU(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(8, 5), nn.LogSoftmax(-1),
        )  # fmt: skip


@model(2, 6, 16)
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(16), nn.MultiheadAttention(16, 4, 0.1)
        self.rest = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x):
        y = self.norm(x)
        y = x + self.attention(y, y, y, need_weights=False)[0]
        return y + self.rest(y)


@model(3, 7, integers=20)
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cell = nn.Embedding(20, 8), nn.GRUCell(8, 8)

    def forward(self, index):
        state = torch.zeros(3, 8)
        for word in self.words(index).unbind(1):
            state = self.cell(word, state)
        return F.cross_entropy(state, index[:, 0] % 8)


@model(4, 10, grad=True)
class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(10, 10), nn.Linear(10, 10)

    def forward(self, x):
        y = self.a(x).tanh()
        if y.sum() > 0:
            y = y * 2
        print("", end="")
        return {"y": self.b(y), "mean": y.mean().item()}


@model(4, 10)
class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.calls, self.seen = nn.Linear(10, 4), 0, {}
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.calls += 1
        y = self.a(x)
        self.mean.mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
        self.seen[self.calls] = tuple(y.shape)
        self.last = y.detach()
        return y - self.mean


@model(5, 8)
class Normalised(nn.Module):
    """A result whose gradient is 0 but for rounding, and a bias of which that is true."""

    def __init__(self):
        super().__init__()
        self.a, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(self.a(x)).softmax(-1)


@model(6, 9)
class Narrow(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(9, 9).bfloat16()

    def forward(self, x):
        y = F.gelu(self.a(x.bfloat16())) * 3 + 1
        return F.layer_norm(y, (9,)).sum(-1)


@model(6, 9)
class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(9, 9), nn.Linear(9, 2)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.b(F.silu(self.a(x))).float()


@model(3, 4, 5)
class Views(nn.Module):
    def forward(self, x):
        y = x.transpose(0, 1).reshape(4, -1)[:, ::2].clone()
        y[0] = 1
        y[1:].mul_(2)
        top, where = y.topk(3)
        return torch.cat([top, where.float()], 1).cumsum(0), y.sort(-1).values.unfold(1, 2, 1)


@model(6, 6)
class Algebra(nn.Module):
    def forward(self, x):
        square = x @ x.t() + 6 * torch.eye(6)
        return torch.linalg.solve(square, x), torch.logdet(square), torch.fft.rfft(x).abs()


@model(8, 8)
class Step(nn.Module):
    """A training step that computes its own gradients."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 1)
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)

    def forward(self, x):
        loss = self.b(self.a(x).relu()).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


@model(4, 6)
class Random(nn.Module):
    def forward(self, x):
        noise = torch.randn_like(x) + torch.rand(6) + torch.randint(5, (4, 1))
        return F.dropout(x + noise, 0.3) * torch.bernoulli(torch.full((4, 6), 0.5))


@model(4, 6, grad=True)
class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 12), nn.Linear(12, 6)

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        y = checkpoint(
            lambda v: self.b(F.dropout(self.a(v).sigmoid(), 0.2)), x, use_reentrant=False
        )
        return y.exp()
