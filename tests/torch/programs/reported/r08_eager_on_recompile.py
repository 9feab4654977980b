"""After pytorch/pytorch#181817 (2026): a stance lets calls run uncompiled without a word."""

import torch


@torch.compile(backend="eager", dynamic=False)
def shifted(x, n):
    return x + n


shifted(torch.ones(3), 1)
with torch.compiler.set_stance("eager_on_recompile"):
    shifted(torch.ones(3), 2)
