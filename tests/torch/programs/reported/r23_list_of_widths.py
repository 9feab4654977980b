"""A list of numbers, each of which torch takes for a constant first."""

import torch


@torch.compile(backend="eager")
def pad_to(x, widths):
    cut = torch.tensor(widths, dtype=torch.int64)
    mask = torch.arange(x.shape[1])[None, :] < cut[:, None]
    return x * mask


torch.manual_seed(0)
for widths in ([1, 2], [3, 1], [2, 2], [1, 3]):
    print(float(pad_to(torch.ones(2, 3), widths).sum()))
