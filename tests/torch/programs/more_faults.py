"""More programs that make a NaN or an Inf, by operations and from places of their own."""

import torch
from torch import nn
from torch.nn import functional

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


@fault("inference", "cumprod", P * 1e13)
def running_product(x):
    y = x + 1
    return torch.cumprod(y.flatten(), 0).flip(0)  # FAULT


@fault("inference", "prod", P * 1e10)
def product_of_all(x):
    return (x * 2).prod() * 0.5  # FAULT


@fault("inference", "atanh", P)
def end_of_a_domain(x):
    return torch.atanh(x.clamp(max=1.0)) + x  # FAULT


@fault("inference", "lgamma", Z)
def gamma_at_zero(x):
    y = torch.lgamma(x)  # FAULT
    return y.exp()


@fault("inference", "fmod", P)
def rest_of_a_division_by_zero(x):
    period = torch.zeros(3)
    return torch.fmod(x, period)  # FAULT


@fault("inference", "native_group_norm", torch.full((2, 4, 3), 2.0))
def group_norm_without_epsilon(x):
    return functional.group_norm(x, 2, eps=0.0).relu()  # FAULT


@fault("inference", "div", P)
def update_of_an_optimizer(x):
    moment, square = x * 0.1, x * 0
    return torch.addcdiv(x, moment, square.sqrt(), value=-0.1)  # FAULT


@fault("inference", "mean", torch.full((2, 3), 3e38))
def large_scores_summed(x):
    y = x.clamp(max=3e38)
    return (y + y.mean()).exp()  # FAULT


@fault("inference", "mean", P, dynamic=True)
def mean_of_an_empty_slice(x):
    rest = x[x.shape[0] :]
    return rest.mean() + x.sum()  # FAULT


@fault("inference", "div", P.to(torch.complex64))
def complex_division(x):
    y = x - x
    return torch.view_as_real(x / y).sum()  # FAULT


@fault("inference", "bmm", torch.full((1, 2, 2), 1e20))
def product_in_an_einsum(x):
    y = x.sin().sign() * x
    return torch.einsum("bij,bjk->bik", y, y)  # FAULT


class Attention(nn.Module):
    def forward(self, x):
        mask = torch.zeros(3, 3, dtype=torch.bool)
        scores = x @ x.transpose(-1, -2)
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ x  # FAULT


FAULTS["attention_to_nothing"] = (Attention(), (torch.ones(1, 3, 4),), "inference", "softmax", {})


class Deep(nn.Module):
    def __init__(self, depth, bad):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
        self.bad = bad

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x).tanh()
            if number == self.bad:
                x = x / (x - x).sum(-1, keepdim=True)  # FAULT
        return x


torch.manual_seed(0)
FAULTS["one_of_eight_layers"] = (Deep(8, 5), (torch.ones(2, 4),), "forward", "div", {})
FAULTS["one_of_many_with_dynamic_shapes"] = (
    Deep(6, 3),
    (torch.ones(5, 4),),
    "forward",
    "div",
    {"dynamic": True},
)


@fault("backward", "div", leaf(torch.ones(2, 3)))
def slope_of_a_spread(x):
    return (x * 2).std(1).sum()  # FAULT


@fault("backward", "div", leaf(torch.ones(3)))
def slope_of_a_distance(x):
    d = x - x.detach()
    return torch.linalg.vector_norm(d) + d.sum()  # FAULT


@fault("forward", "reciprocal", leaf(torch.ones(2)))
def hidden_by_a_mask_but_not_from_its_slope(x):
    y = x - 1
    return torch.where(y > 0, torch.exp(1 / y), y).sum()  # FAULT


@fault("backward", "sub", leaf(torch.zeros(2, 3)))
def slope_of_log_sum_exp(x):
    masked = x.masked_fill(torch.ones(2, 3, dtype=torch.bool), float("-inf"))
    return torch.where(torch.zeros(2, dtype=torch.bool), masked.logsumexp(1), 0.0).sum()  # FAULT


class Explodes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.exp(x * 1000)  # FAULT


@fault("backward", "exp", leaf(P))
def own_backward_overflows(x):
    return Explodes.apply(x * 1.0).sum()


@fault("forward", "log", leaf(P))
def in_a_checkpoint(x):
    from torch.utils.checkpoint import checkpoint

    def part(y):
        return torch.log(y - 5)  # FAULT

    return checkpoint(part, x.sin(), use_reentrant=False).sum()


@fault("inference", "log", P)
def in_a_branch_that_is_captured(x):
    def yes(y):
        return y.log()  # FAULT

    def no(y):
        return y.sin()

    return torch.cond(x.sum() > 0, yes, no, (x - 1,))


@fault("forward", "div", leaf(P))
def in_the_second_of_three_graphs(x):
    y = x.sin()
    print("one", end="")
    y = y / (y - y)  # FAULT
    print("two", end="")
    return (y * 2).sum()


@fault("inference", "div", P)
def in_a_function_mapped_over_rows(x):
    return torch.vmap(lambda row: row / (row - row.clone()).sum())(x)  # FAULT


@fault("inference", "rsqrt", Z)
def in_a_generator(x):
    parts = [part.rsqrt() for part in x.unbind(0)]  # FAULT
    return torch.stack(parts)


@fault("inference", "nll_loss_forward", torch.zeros(2, 3))
def loss_of_nothing(x):
    target = torch.full((2,), -100)
    return functional.cross_entropy(x, target)  # FAULT


@fault("inference", "div", P)
def row_of_a_table(x):
    table = torch.stack([x[0], x[1] / torch.zeros(3)])  # FAULT
    return functional.embedding(torch.tensor([1, 0]), table)


@fault("inference", "sub", P)
def infinity_less_infinity(x):
    top = torch.full_like(x, float("inf"))
    return x + (top - top)  # FAULT


@fault("inference", "_to_copy", P)
def number_too_large_for_half(x):
    return x.half() * torch.tensor(1e5).half()  # FAULT


@fault("inference", "log", P)
def in_a_loop_that_is_captured(x):
    from torch._higher_order_ops.while_loop import while_loop

    def more(n, y):
        return n < 3

    def step(n, y):
        return n + 1, (y - 1).log()  # FAULT

    return while_loop(more, step, (torch.zeros((), dtype=torch.int64), x * 1.0))


@fault("inference", "sqrt", X)
def in_a_branch_of_a_branch(x):
    def yes(y):
        return torch.cond(y.sum() > 100, no, deeper, (y,))

    def deeper(y):
        y = y * 2
        return y.sqrt()  # FAULT

    def no(y):
        return y.sin() * 2

    return torch.cond(x.sum() > 0, yes, no, (x * 1,))
