"""Small programs, each with a question that people ask of it, and the line that is the answer.

The line that a finding has to name is marked with ``# HERE``; `ASKED` maps each program to the kind
of that finding, a word of its cause and a word of what to change.
"""

import contextlib
import dataclasses
import datetime
import os
import random
import threading

import torch

ASKED = {}


def asked(kind, cause, change, error=None):
    def register(run):
        ASKED[run.__name__] = (run, kind, cause, change, error)
        return run

    return register


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.to_q = torch.nn.Linear(4, 4)
        self.processor = object()

    def forward(self, x):
        known = id(self.processor)  # HERE each_layer_has_an_object_of_its_own
        return self.to_q(x) + (known & 0)


@asked("recompile", "`self.processor` is a different object", "share one")
def each_layer_has_an_object_of_its_own():
    with torch.no_grad():
        for _ in range(3):
            block = Block()
            block.compile(backend="eager")
            block(torch.ones(2, 4))


@asked("limit", "raised FailOnRecompileLimitHit", "fix the cause", "FailOnRecompileLimitHit")
def a_limit_where_one_graph_is_asked_for():
    @torch.compile(fullgraph=True, backend="eager", dynamic=False)
    def total(x):  # HERE a_limit_where_one_graph_is_asked_for
        return x.sum() * 2

    for n in range(2, 14):
        total(torch.ones(n))


@asked("recompile", "must equal the size of a parameter", "force_parameter_static_shapes")
def parameters_of_many_sizes():
    @torch.compile(backend="eager")
    def update(params, grads):
        for p, g in zip(params, grads):
            p.sub_(g / (g.norm() + 1e-7))  # HERE parameters_of_many_sizes

    with torch.no_grad():
        for n in range(2, 5):
            update([torch.nn.Parameter(torch.ones(n, 2 * n))], [torch.ones(n, 2 * n)])


@asked("failed", "as this line tests it", "min=…", "ConstraintViolationError")
def a_branch_on_a_marked_size():
    @torch.compile(backend="eager")
    def encode(x):
        if x.shape[0] > 5:  # HERE a_branch_on_a_marked_size
            return x.cos()
        return x.sin()

    x = torch.ones(4, 3)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=8)
    encode(x)


HISTORY = []


@asked("recompile", "len(HISTORY)", "grows with every call")
def a_list_outside_grows():
    @torch.compile(backend="eager")
    def remember():
        HISTORY.append(torch.ones(10) + 1)  # HERE a_list_outside_grows
        return HISTORY[-1]

    for _ in range(3):
        remember()


@asked("break", "`torch.manual_seed` sets or reads", "outside")
def a_seed_in_forward():
    @torch.compile(backend="eager")
    def noisy(x):
        torch.manual_seed(0)  # HERE a_seed_in_forward
        return x + torch.randn(3)

    noisy(torch.ones(3))


LOCK = threading.Lock()


@contextlib.contextmanager
def locked():
    with LOCK:  # HERE a_lock_in_a_context_manager
        yield


@asked("break", "context manager `lock`", "enter it outside")
def a_lock_in_a_context_manager():
    @torch.compile(backend="eager")
    def work(x):
        x = x.sin()
        with locked():
            x = x.cos()
        return x

    work(torch.ones(3))


@asked("break", "`datetime.datetime.now` reads the clock", "outside")
def the_time_in_a_helper():
    def stamp(x):
        return {"at": datetime.datetime.now(), "norm": x.norm()}  # HERE the_time_in_a_helper

    @torch.compile(backend="eager")
    def forward(x):
        y = x.relu()
        return y * 2, stamp(y)

    forward(torch.ones(3))


@asked("break", "`torch._C.Generator` is created inside", "outside")
def a_generator_of_its_own():
    @torch.compile(backend="eager")
    def noise(x):
        g = torch.Generator(device="cpu")  # HERE a_generator_of_its_own
        return x + torch.randn(4, generator=g)

    noise(torch.ones(4))


@asked("break", "draws with a `torch.Generator`", "pass the numbers in")
def a_generator_that_is_handed_in():
    @torch.compile(backend="eager")
    def noise(x, g):
        return x + torch.randn(4, generator=g)  # HERE a_generator_that_is_handed_in

    noise(torch.ones(4), torch.Generator(device="cpu"))


@asked("failed", "only known at run time", "outside", "InternalTorchDynamoError")
def a_seed_that_is_drawn():
    @torch.compile(backend="eager")
    def jitter(x):
        seed = random.randint(0, 100)
        rand = random.Random(seed)  # HERE a_seed_that_is_drawn
        return x + rand.randrange(10)

    jitter(torch.ones(1))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 4)

    def forward(self, x):  # HERE a_method_instead_of_the_module
        return self.head(x)

    def generate(self, x):
        return self(self(x))


@asked(
    "nothing", "`Model` was passed to torch.compile, but the compiled module", "module.compile()"
)
def a_method_instead_of_the_module():
    model = torch.compile(Model(), backend="eager")
    model.generate(torch.ones(2, 4))
    return model


@asked("recompile", "the value of line", "comes from a tensor's values")
def numbers_of_a_box():
    @torch.compile(backend="eager")
    def area(box):
        w = int(box[2] - box[0])
        h = int(box[3] - box[1])  # HERE numbers_of_a_box
        return torch.ones(3) * (w * h)

    for n in range(3):
        area(torch.tensor([n, 2 * n, 3 * n, 7 * n]))


@asked("recompile", "`w` changed: it was", "between the line that computes")
def a_number_from_before_a_break():
    @torch.compile(backend="eager")
    def area(box):
        w = int(box[2] - box[0])
        print(end="")
        return torch.ones(3) * w  # HERE a_number_from_before_a_break

    for n in (2, 3, 4):
        area(torch.tensor([n, 2 * n, 3 * n, 7 * n]))


@asked("break", "DDP splits the graph", "bucket_cap_mb")
def a_module_in_ddp():
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(600, 600) for _ in range(3))

        def forward(self, x):  # HERE a_module_in_ddp
            for layer in self.layers:
                x = layer(x).relu()
            return x

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        net = torch.compile(DistributedDataParallel(Net(), bucket_cap_mb=1), backend="aot_eager")
        net(torch.ones(2, 600)).sum().backward()
    finally:
        dist.destroy_process_group()


@dataclasses.dataclass
class Batch:
    entries: dict


@asked("recompile", "len(batch.entries)", "grows with every call")
def a_dict_grows():
    @torch.compile(backend="eager")
    def put(batch, x):
        batch.entries[f"out{len(batch.entries)}"] = x * 2  # HERE a_dict_grows
        return batch

    batch = Batch({})
    for _ in range(3):
        batch = put(batch, torch.ones(3))
