"""Four ranks of which one compiles something else: `python diverging.py FOLDER KIND:RANK…`.

KIND is what that rank has other: shape, configuration, cache, or the order of its collectives. A
capture goes to FOLDER/KIND, torch's own logs to FOLDER/KIND.logs.
"""

import os
import sys
from pathlib import Path

import torch
import torch._dynamo
import torch._functorch.aot_autograd
import torch._inductor.compile_fx
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

SIZE = 4


def reduced(x, how):
    return functional.wait_tensor(functional.all_reduce(x, how, dist.group.WORLD))


def exchange(x):
    return reduced(x + 1, "sum") * reduced(x - 1, "max")


def exchange_otherwise(x):
    highest = reduced(x - 1, "max")
    return reduced(x + 1, "sum") * highest


def total(x):
    return reduced(x.sum(0), "sum")


def product(x):
    return x @ x


def run(kind, odd):
    """Compile what a rank compiles; a product of matrices has no kernel that takes long to make."""
    function = {"shape": total, "cache": product}.get(kind, exchange)
    if kind == "collectives" and odd:
        function = exchange_otherwise
    compiled = torch.compile(function, backend="inductor" if kind == "cache" else "aot_eager")
    compiled(torch.ones(5 if kind == "shape" and odd else 3, 3))


def one_rank(kind, dump, logs, rank, odd):
    """Be one rank: join the job, and compile inside a capture, with torch's trace beside it."""
    import torch._logging._internal as logging_of_torch
    from pellucid import prepare_debug

    torch.set_num_threads(1)
    store = dist.FileStore(str(Path(dump).with_suffix(f".store{odd}")), SIZE)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=SIZE)
    keep_caches(dump, ".odd" if kind == "cache" and rank == odd else ".caches")
    if kind == "configuration" and rank == odd:
        torch._dynamo.config.specialize_float = True
    logging_of_torch.LOG_TRACE_HANDLER.root_dir = str(logs)
    with prepare_debug(dump):
        run(kind, rank == odd)
    dist.barrier()
    dist.destroy_process_group()


def keep_caches(dump, suffix):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(dump).with_suffix(suffix))


def fill_cache(dump):
    torch.set_num_threads(1)
    keep_caches(dump, ".caches")
    run("cache", False)


def in_fork(function, *arguments):
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        function(*arguments)
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)


def job(kind, dump, logs, odd):
    children = [in_fork(one_rank, kind, dump, logs, rank, odd) for rank in range(SIZE)]
    return sum(os.waitpid(child, 0)[1] for child in children)


def main(folder, *kinds):
    failed = 0
    for kind, _, odd in (each.partition(":") for each in kinds):
        dump, logs = Path(folder, kind), Path(folder, f"{kind}.logs")
        logs.mkdir(parents=True)
        if kind == "cache":
            os.waitpid(in_fork(fill_cache, dump), 0)  # which all ranks but one have
        failed += job(kind, dump, logs, int(odd))
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
