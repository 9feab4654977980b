"""Captures in several processes and threads at once; run by test_processes.py.

`python job.py WAY DIRECTORY [COUNT]`. Each worker compiles functions of its own, whose constants
tell whose they are.
"""

import os
import sys
import threading

import torch

torch.set_num_threads(1)


def function_of(worker):
    """Make a function whose graph and whose name say which worker's it is."""
    scope = {"torch": torch}
    text = (
        f"def work_{worker}(x):\n    y = x + {1000 + worker}\n"
        f"    torch._dynamo.graph_break()\n    return y * {2000 + worker}\n"
    )
    exec(compile(text, f"<worker {worker}>", "exec"), scope)
    return scope[f"work_{worker}"]


def compute(worker):
    result = torch.compile(function_of(worker), backend="eager")(torch.zeros(2))
    assert result.tolist() == [float((1000 + worker) * (2000 + worker))] * 2, result


def captured(worker, directory):
    from pellucid import prepare_debug

    with prepare_debug(directory):
        compute(worker)


def only_compiled(worker, directory):
    compute(worker)


def processes(method, directory, count, target):
    import torch.multiprocessing as mp

    context = mp.get_context(method)
    children = [context.Process(target=target, args=(n, directory)) for n in range(1, count + 1)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * count


def threads(directory, count):
    from pellucid import prepare_debug

    failed = []

    def work(number):
        try:
            barrier.wait()
            compute(number)
        except BaseException as error:
            failed.append(error)

    barrier = threading.Barrier(count)
    workers = [threading.Thread(target=work, args=(n,)) for n in range(1, count + 1)]
    with prepare_debug(directory):
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not failed, failed
    print(sum(torch._dynamo.utils.counters["graph_break"].values()))  # as torch has counted them


def ranks(directory):
    import torch.distributed as dist

    dist.init_process_group("gloo")
    captured(dist.get_rank() + 1, directory)
    dist.barrier()
    dist.destroy_process_group()


def forked_inside(directory, count):
    """Fork while a capture is open; the children know nothing of it."""
    from pellucid import prepare_debug

    with prepare_debug(directory):
        compute(99)
        processes("fork", directory, count, only_compiled)
        bare = os.fork()
        if not bare:
            compute(98)
            os._exit(0)
        assert os.waitpid(bare, 0)[1] == 0


def main(way, directory, count=4):
    if way in ("spawn", "fork"):
        processes(way, directory, count, captured)
    elif way == "threads":
        threads(directory, count)
    elif way == "ranks":
        ranks(directory)
    elif way == "inside":
        forked_inside(directory, count)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
