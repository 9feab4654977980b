import pellucid
import torch


@torch.compile(backend="eager")
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


a, b = torch.full((3,), 3.0), torch.full((3,), -2.0)
with pellucid.prepare_debug("dump"):  # wrap the calls that compile, not the decorator
    toy_example(a, b)

with pellucid.debug():  # pauses
    toy_example(a, b)
