"""What the logs of tests/torch/logs are of: a break, a recompile, a failure; or two ranks."""

import contextlib
import os
import sys

import torch


@torch.compile(backend="aot_eager")
def scaled(x, factor):
    y = x * factor
    if y.sum() > 0:
        y = y + 1
    return y.relu()


@torch.compile(backend="eager", fullgraph=True)
def whole(x):
    print("no graph has this")
    return x + 1


@torch.compile(backend="eager")
def step(x):
    return x.sin() + x


def alone():
    for factor in (2, 3):
        scaled(torch.ones(4), factor)
    with contextlib.suppress(Exception):
        whole(torch.ones(4))


def one_rank(rank):
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29377")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    step(torch.ones(4))
    step(torch.ones(4 + rank))
    dist.destroy_process_group()


def ranks():
    children = []
    for rank in range(2):
        child = os.fork()
        if child == 0:
            one_rank(rank)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    {"one": alone, "ranks": ranks}[sys.argv[1]]()
