"""After huggingface/lora-fast#5 (2026): a size is marked dynamic, but the code fixes it."""

import torch

TABLE = torch.ones(4, 3)


@torch.compile(backend="eager")
def added(x):
    return x + TABLE


x = torch.ones(4, 3)
torch._dynamo.mark_dynamic(x, 0)
added(x)
