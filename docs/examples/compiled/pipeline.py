import torch


@torch.compiler.disable
def logged(x):
    return x * 2


@torch.compile(backend="aot_eager")
def pipeline(x):
    y = logged(torch.relu(x))
    return y + 1


@torch.compile(backend="aot_eager", dynamic=False)
def resized(x):
    return x.cos()


pipeline(torch.ones(3))
for size in range(2, 13):
    resized(torch.ones(size))
