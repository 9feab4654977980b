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


@fault("forward", "log", leaf(Z))
def log_of_zero_in_a_loss(x):
    loss = -(torch.log(x) * 0.5).sum()  # FAULT
    return loss


@fault("inference", "native_layer_norm", torch.ones(2, 3))
def layer_norm_without_epsilon(x):
    y = x * 3
    y = torch.nn.functional.layer_norm(y, (3,), eps=0.0)  # FAULT
    return y + 1


@fault("inference", "_softmax", torch.full((2, 3), 3.0))
def softmax_of_a_masked_row(x):
    scores = x.masked_fill(x > 0, float("-inf"))
    return scores.softmax(-1)  # FAULT


@fault("inference", "mul", (P * 300).half())
def product_too_large_for_half(x):
    y = x + 1
    return (y * y).sum()  # FAULT


@fault("inference", "reciprocal", Z)
def in_one_of_several_results(x):
    fine = x.sin()
    bad = 1 / x  # FAULT
    return fine, (bad, fine + 1), {"more": fine * 2}


@fault("inference", "log", P)
def written_in_place(x):
    y = x - 1.5
    y.log_()  # FAULT
    return y * 2


@fault("inference", "div", P)
def stored_by_index(x):
    y = x.clone()
    y[0, 1] = y[0].sum() / torch.zeros(())  # FAULT
    return y.sum()


@fault("inference", "scatter_add", P)
def too_large_when_scattered(x):
    big = x[0] * 0 + 2e38
    return torch.zeros(3).scatter_add(0, torch.tensor([1, 1, 1]), big)  # FAULT


@fault("inference", "mm", P.bfloat16())
def under_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        big = x.float() * 3e38
        return torch.mm(big.clamp(max=3e38), x.t().float() * 2)  # FAULT


@fault("inference", "div", leaf(P))
def without_gradients(x):
    with torch.no_grad():
        scale = (x - x).sum()
        return (x / scale).mean()  # FAULT


class Halving(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        return torch.log(x - 1)  # FAULT


halving = Halving()


@fault("inference", "log", torch.tensor([20.0, 30.0]))
def module_called_in_a_loop(x):
    for _ in range(4):
        x = halving(x)
    return x


@fault("backward", "div", leaf(Z))
def norm_backward_at_zero(x):
    y = (x * torch.zeros(())).sum(-1)
    return y.norm() + torch.sqrt((y * y).sum())  # FAULT


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(scale)
        return x * scale

    @staticmethod
    def backward(ctx, gradient):
        (scale,) = ctx.saved_tensors
        return gradient / (scale - scale), None  # FAULT


@fault("backward", "div", leaf(P))
def own_backward_divides(x):
    return Scaled.apply(x, torch.tensor(2.0)).sum()


@fault("backward", "pow", leaf(P))
def finite_forward_not_backward(x):
    return torch.where(x > 1, x.log(), x).sum() + (x - x).abs().pow(0.5).sum()  # FAULT
