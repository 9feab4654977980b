import torch


class Block(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.up(self.norm(x)))
        return x + self.down(y)


torch.manual_seed(0)
block = Block()
model = torch.compile(block)
model(torch.randn(32, 64)).square().mean().backward()
