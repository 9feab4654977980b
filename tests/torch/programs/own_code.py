"""Programs whose own compiled code is wrong: caches, guards, settings, an optimizer's step.

A fresh compile of each is right. FAULTS has a function for each that makes the program and returns
what is to be looked at; `# CALL` marks the line of the call that differs, and CAUSES a word of the
reason to be told.
"""

import math

import torch

FAULTS, CAUSES = {}, {}
EAGER = "aot_eager"


def fault(cause):
    def register(make):
        FAULTS[make.__name__], CAUSES[make.__name__] = make, cause
        return make

    return register


def only_tensors(guards):
    return [guard.guard_type == "TENSOR_MATCH" for guard in guards]


def no_tensors(guards):
    return [guard.guard_type != "TENSOR_MATCH" for guard in guards]


def none_of(guards):
    return [False for _ in guards]


def numbers(*shape):
    return torch.linspace(0.5, 1.5, math.prod(shape)).reshape(shape)


class Layer(torch.nn.Module):
    gain = 1.0

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.sin(self.inner(x)) * self.gain


@fault("guard_filter_fn")
def filtered_attribute():
    layer = Layer()
    compiled = torch.compile(layer, backend=EAGER, options={"guard_filter_fn": only_tensors})

    def step(x):
        layer.gain = 1.0
        first = compiled(x)
        layer.gain = 2.0
        return first, compiled(x)  # CALL

    return step, (numbers(4),)


SCALE = 1.0


@fault("guard_filter_fn")
def filtered_global():
    @torch.compile(backend=EAGER, options={"guard_filter_fn": only_tensors})
    def scaled(x):
        return x * SCALE

    def step(x):
        global SCALE
        total = 0
        for number in range(3):
            SCALE = 1.0 + number
            total = total + scaled(x)  # CALL
        return total

    return step, (numbers(3),)


@fault("guard_filter_fn")
def filtered_shape():
    @torch.compile(backend=EAGER, dynamic=False, options={"guard_filter_fn": no_tensors})
    def mean(x):
        return x.sum() / x.shape[0]

    def step(x):
        return mean(x), mean(x[:2])  # CALL

    return step, (numbers(4),)


@fault("guard_filter_fn")
def filtered_mode():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    compiled = torch.compile(model, backend=EAGER, options={"guard_filter_fn": only_tensors})

    def validate(x):
        model.train()
        compiled(x).sum().backward()
        model.eval()
        with torch.no_grad():
            return compiled(x)  # CALL

    return validate, (numbers(3, 4),)


@fault("guard_filter_fn")
def filtered_learning_rate():
    weight = torch.nn.Parameter(numbers(4))
    optimizer = torch.optim.SGD([weight], lr=0.1)

    @torch.compile(backend=EAGER, options={"guard_filter_fn": only_tensors})
    def update():
        optimizer.step()

    def step():
        for number in range(3):
            optimizer.zero_grad()
            (weight * numbers(4)).sum().backward()
            optimizer.param_groups[0]["lr"] = 0.1 / (number + 1)
            update()  # CALL

    return step, ()


@fault("guard_filter_fn")
def filtered_weight_decay():
    weight = torch.nn.Parameter(numbers(4))
    optimizer = torch.optim.AdamW([weight], lr=torch.tensor(0.1), weight_decay=0.0)
    update = torch.compile(
        lambda: optimizer.step(), backend=EAGER, options={"guard_filter_fn": none_of}
    )

    def step():
        for decay in (0.0, 0.0, 0.5):
            optimizer.zero_grad()
            weight.square().sum().backward()
            optimizer.param_groups[0]["weight_decay"] = decay
            update()  # CALL

    return step, ()


@fault("guard_filter_fn")
def filtered_in_a_generator():
    layer = Layer()
    compiled = torch.compile(layer, backend=EAGER, options={"guard_filter_fn": only_tensors})

    def epochs(x):
        for number in range(3):
            layer.gain = float(number)
            yield compiled(x).sum()  # CALL

    return epochs, (numbers(4),)


@fault("no guard")
def operator_redefined():
    """Its backward pass is corrected after the first call."""
    factor = 2.0

    @torch.library.custom_op("own_code::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_fake(torch.empty_like)
    double.register_autograd(lambda ctx, gradient: gradient)

    @torch.compile(backend=EAGER)
    def account(x):
        return torch.ops.own_code.double(x) + 1

    def step(x):
        account(x).sum().backward()
        double.register_autograd(lambda ctx, gradient: gradient * factor)
        account(x).sum().backward()  # CALL

    return step, (numbers(3).requires_grad_(),)


@fault("no guard")
def hook_added_later():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    compiled = torch.compile(model, backend=EAGER)

    def step(x):
        first = compiled(x)
        handle = model[0].register_forward_hook(lambda module, args, result: result * 2)
        second = compiled(x)  # CALL
        handle.remove()
        return first, second

    return step, (numbers(2, 4),)


TABLE = {"width": 2.0}


@torch._dynamo.assume_constant_result
def width():
    return TABLE["width"]


@fault("no guard")
def assumed_constant():
    @torch.compile(backend=EAGER)
    def stretched(x):
        return x * width()

    def step(x):
        TABLE["width"] = 2.0
        first = stretched(x)
        TABLE["width"] = 5.0
        return first + stretched(x)  # CALL

    return step, (numbers(3),)


@torch._dynamo.allow_in_graph
def allowed(x):
    return x * TABLE["width"]


@fault("no guard")
def allowed_in_graph():
    @torch.compile(backend=EAGER)
    def stretched(x):
        return allowed(x) + 1

    def step(x):
        TABLE["width"] = 2.0
        first = stretched(x)
        TABLE["width"] = 5.0
        return first + stretched(x)  # CALL

    return step, (numbers(3),)


@fault("no guard")
def guards_not_evaluated():
    @torch.compile(backend=EAGER)
    def scaled(x, factor):
        return x * factor

    def step(x):
        first = scaled(x, 2)
        with torch.compiler.set_stance("default", skip_guard_eval_unsafe=True):
            return first + scaled(x, 7)  # CALL

    return step, (numbers(3),)


@fault("ahead of time")
def ahead_of_time():
    def scaled(x):
        return x * SCALE

    global SCALE
    SCALE = 1.0
    made = torch.compile(scaled, backend="inductor", fullgraph=True).aot_compile(
        ((numbers(3),), {})
    )

    def step(x):
        global SCALE
        SCALE = 3.0
        return made(x)  # CALL

    return step, (numbers(3),)


@fault("ahead of time")
def function_of_aot_autograd():
    from torch._functorch.aot_autograd import aot_function

    settings = [1.0]

    def scaled(x):
        return x * settings[0]

    made = aot_function(scaled, fw_compiler=lambda graph, _: graph)

    def step(x):
        settings[0] = 1.0
        first = made(x)
        settings[0] = 2.0
        return first + made(x)  # CALL

    return step, (numbers(3),)


@fault("no guard")
def backend_with_a_cache():
    """A backend of the program's own that keeps results by the shape of what it is given."""

    def backend(graph, inputs):
        known = {}

        def run(*args):
            return known.setdefault(args[0].shape, graph.forward(*args))

        return run

    @torch.compile(backend=backend)
    def double(x):
        return x * 2

    def step(x):
        return double(x) + double(x + 1)  # CALL

    return step, (numbers(3),)


@fault("guard_filter_fn")
def modules_not_guarded():
    unsafe = torch.compiler.skip_guard_on_all_nn_modules_unsafe
    layer = Layer()
    compiled = torch.compile(layer, backend=EAGER, options={"guard_filter_fn": unsafe})

    def step(x):
        layer.inner.weight.requires_grad_(False)
        for number in range(2):
            layer.gain = 1.0 + number
            compiled(x).sum()  # CALL

    return step, (numbers(4),)


@fault("guard_filter_fn")
def gradient_alone():
    """The results agree; the gradient is that of the first call."""
    sign = [1.0]

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * sign[0]

    @torch.compile(backend=EAGER, options={"guard_filter_fn": only_tensors})
    def reversed_(x):
        return Reverse.apply(x) * 2

    def step(x):
        sign[0] = 1.0
        reversed_(x).sum().backward()
        sign[0] = -1.0
        reversed_(x).sum().backward()  # CALL

    return step, (numbers(3).requires_grad_(),)
