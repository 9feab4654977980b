import torch
import torch.distributed as dist


@torch.compile(backend="aot_eager", dynamic=False)
def step(x):
    return torch.relu(x).sum()


dist.init_process_group("gloo")
rank = dist.get_rank()
step(torch.ones(4, 8))
step(torch.ones(4, 8 if rank == 0 else 6))  # the last batch of rank 1 is shorter
dist.destroy_process_group()
