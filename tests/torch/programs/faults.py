"""Programs that make a NaN or an Inf; `# FAULT` marks the line of the operation that does.

Each entry of FAULTS: the function, its arguments, the pass, and the operation.  What the functions
are called with is finite.
"""

import torch

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 3.0, -0.25]])
P = torch.tensor([[0.5, 1.0, 2.0], [1.5, 3.0, 0.25]])
Z = torch.tensor([[0.0, 1.0, 2.0], [1.5, 0.0, 0.25]])
FAULTS = {}


def fault(stage, operation, *args, **options):
    def register(function):
        FAULTS[function.__name__] = (function, args, stage, operation, options)
        return function

    return register


def leaf(tensor):
    return tensor.clone().requires_grad_()


@fault("inference", "log", X)
def log_of_negative(x):
    y = x * 2
    y = torch.log(y)  # FAULT
    return y.sum()


@fault("inference", "sqrt", X, dynamic=True)
def sqrt_with_dynamic_shapes(x):
    y = x[:, 1:] + 0.0
    return torch.sqrt(y).mean()  # FAULT


@fault("inference", "div", Z)
def zero_by_zero(x):
    scale = x - x.amin()
    y = x / scale  # FAULT
    return y * 2


@fault("inference", "exp", X * 100)
def overflow(x):
    e = x.exp()  # FAULT
    return e / e.sum()


@fault("inference", "pow", X)
def root_of_negative(x):
    y = x.abs() + 1
    return y + x**0.5  # FAULT


@fault("inference", "_to_copy", X * 1e6)
def too_large_for_half(x):
    small = x.half()  # FAULT
    return small.float() * 0


@fault("inference", "softmax", X)
def row_without_an_open_place(x):
    scores = torch.where(x > 2.5, x, -torch.inf)
    return scores.softmax(-1)  # FAULT


@fault("inference", "acos", X)
def outside_of_a_domain(x):
    y = x.sin() * 2
    return y.acos() + 1  # FAULT


@fault("inference", "var", X[:, :1])
def spread_of_one(x):
    y = x.var(1)  # FAULT
    return y + 1


@fault("inference", "mean", X[:0])
def mean_of_nothing(x):
    y = x.relu()
    return y.mean()  # FAULT


@fault("inference", "reciprocal", Z)
def behind_a_graph_break(x):
    y = x + 0.0
    torch._dynamo.graph_break()
    return y.reciprocal()  # FAULT


@fault("inference", "log", Z)
def harmless_ones_first(x):
    safe = torch.where(x > 0, x.reciprocal(), 0.0)
    return safe + torch.log(x)  # FAULT


@fault("forward", "log", leaf(X))
def in_the_forward_of_a_training_step(x):
    loss = torch.log(x).sum()  # FAULT
    loss.backward()
    return loss.detach()


@fault("backward", "div", leaf(Z))
def slope_of_a_root(x):
    y = torch.sqrt(x)  # FAULT
    return y.sum()


@fault("backward", "div", leaf(Z))
def slope_behind_a_mask(x):
    y = torch.log(x)  # FAULT
    return torch.where(x > 0, y, 0.0).sum()


@fault("backward", "pow", leaf(Z), dynamic=True)
def slope_of_a_power(x):
    y = x * 3
    return (y**0.5).sum()  # FAULT


@fault("backward", "rsqrt", leaf(torch.ones(3)))
def slope_at_the_end_of_a_domain(x):
    y = x * 1.0
    return y.acos().sum()  # FAULT


@fault("backward", "div", leaf(Z))
def in_the_backward_of_a_training_step(x):
    y = x.sqrt()  # FAULT
    y.sum().backward()


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 0.5

    @staticmethod
    def backward(ctx, grad):
        return grad / (grad - grad)  # FAULT in own_backward


@fault("backward", "div", leaf(P))
def own_backward(x):
    return Halves.apply(x).sum()


class Block(torch.nn.Module):
    def __init__(self, sound):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.sound = sound

    def forward(self, x):
        x = self.linear(x)
        if self.sound:
            return torch.relu(x)
        return torch.log(x - x.amax())  # FAULT in third_of_four_blocks


def blocks():
    torch.manual_seed(0)
    return torch.nn.Sequential(Block(True), Block(True), Block(False), Block(True))


FAULTS["third_of_four_blocks"] = (blocks(), (torch.ones(2, 4),), "forward", "log", {})

INNER = torch.compile(blocks(), backend="eager")


@fault("forward", "log", torch.ones(2, 4))
def compiled_model_inside(x):
    print("between", end="")  # a graph break before the call
    return INNER(x).sum()
