"""After Comfy-Org/ComfyUI#9972 (2025): each layer compares a key of its own."""

import torch


class Patched(torch.nn.Module):
    def __init__(self, key):
        super().__init__()
        self.key = key
        self.weight = torch.nn.Parameter(torch.randn(4, 4))

    def forward(self, x, patches):
        weight = self.weight
        if self.key in patches:
            weight = weight + patches[self.key]
        return x @ weight


torch.manual_seed(0)
layers = [Patched(f"blocks.{n}.weight") for n in range(12)]
patches = {"blocks.3.weight": torch.ones(4, 4)}
x = torch.randn(2, 4)
for layer in layers:
    layer.compile(backend="eager")
for layer in layers:
    x = layer(x, patches).tanh()
print(float(x.sum()))
