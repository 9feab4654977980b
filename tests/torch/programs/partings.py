"""Faults that are put into one stage of a compile; `# FAULT` marks the program's line concerned.

Each entry of FAULTS says what has to be named: the stage, the pass, and the operation.
"""

import contextlib
import random
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import torch
import torch._inductor.config as inductor
import torch._inductor.decomposition as decomposition
import torch._inductor.select_algorithm as algorithms
from torch.nn import functional as F

aten = torch.ops.aten


class Fault(NamedTuple):
    make: Callable[[], Any]
    args: Callable[[], Tuple[Any, ...]]
    stage: str
    direction: str
    operation: str
    inside: Callable[[], Any]
    options: Dict[str, Any]
    compiled: Dict[str, Any]


FAULTS: Dict[str, Fault] = {}


def numbers(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(dtype)


WEIGHT = numbers(16, 8, seed=2)
SQUARE = numbers(16, 16, seed=3)


def plain():
    return (numbers(6, 16),)


def leaf():
    return (numbers(6, 16).requires_grad_(),)


def two():
    return numbers(6, 16), numbers(6, 16, seed=1)


def fault(stage, direction, operation, args=plain, inside=contextlib.nullcontext, **more):
    compiled = more.pop("compiled", {})

    def register(made):
        make = made if isinstance(made, type) else lambda: made
        FAULTS[made.__name__] = Fault(
            make, args, stage, direction, operation, inside, more, compiled
        )
        return made

    return register


@contextlib.contextmanager
def attribute(owner, name, value):
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def decomposed(operator, function):
    """A wrong decomposition."""

    @contextlib.contextmanager
    def inside():
        table = decomposition.decompositions
        before = table.get(operator)
        table[operator] = function
        try:
            yield
        finally:
            if before is None:
                del table[operator]
            else:
                table[operator] = before

    return inside


def changed(setting, change, **settings):
    """A pass of the user's over the graphs of one stage."""
    return lambda: inductor.patch({setting: change, **settings})


def nodes(graph, target) -> List[Any]:
    return [node for node in graph.nodes if node.target is target]


def put_after(target, operator, *more):
    """A pass that puts one more operation after each of one kind."""

    def change(graph):
        for node in nodes(graph, target):
            users = list(node.users)
            with graph.inserting_after(node):
                new = graph.call_function(operator, (node, *more))
            new.meta.update(node.meta)
            for user in users:
                user.replace_input_with(node, new)

    return change


def put_in_place(target, function):
    """A pass that puts something else in the place of each operation of one kind."""

    def change(graph):
        for node in nodes(graph, target):
            with graph.inserting_before(node):
                new = function(graph, node)
            node.replace_all_uses_with(new)
            graph.erase_node(node)

    return change


def of_gradients(change):
    """The same pass over the graph of a backward pass alone."""

    def only_there(graph):
        if any(node.name.startswith("tangents") for node in graph.nodes):
            change(graph)

    return only_there


def call(graph, like, operator, *args):
    node = graph.call_function(operator, args)
    node.meta.update({k: v for k, v in like.meta.items() if k != "val"})
    node.meta["val"] = operator(*torch.fx.node.map_arg(args, lambda n: n.meta["val"]))
    return node


# -- what Dynamo sees is other than what eager does ------------------------------------------------


@fault("captured", "forward", "aten.mul.Tensor")
def another_factor(x):
    y = x.sin()
    y = y * (2.0 if torch.compiler.is_compiling() else 2.01)  # FAULT
    return y.cos().sum()


@fault("captured", "forward", "aten.relu.default", args=leaf)
def another_activation(x):
    y = x @ x.t()
    y = F.gelu(y) if torch.compiler.is_compiling() else F.relu(y)  # FAULT
    return y.sum()


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * (2.0 if not torch.compiler.is_compiling() else 3.0)  # FAULT


@fault("captured", "backward", "aten.mul.Tensor", args=leaf)
def another_gradient(x):
    y = Squared.apply(x)
    return y.sin()


@fault("captured", "forward", "Python state")
class LostAppend(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log = []

    def forward(self, x):
        y = x * 2
        if not torch.compiler.is_compiling():
            self.log.append(len(y))  # FAULT
        return y + 1


@fault("captured", "forward", "Python state")
class LostCount(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        if not torch.compiler.is_compiling():
            self.steps += 1  # FAULT
        return x + 1


SEEN: Dict[str, int] = {"calls": 0}


@fault("captured", "forward", "Python state")
def lost_entry(x):
    if not torch.compiler.is_compiling():
        SEEN["calls"] += 1  # FAULT
    return x.exp()


LAST = 0


@fault("captured", "forward", "Python state")
def new_global(x):
    global LAST
    if torch.compiler.is_compiling():
        LAST = 5  # FAULT
    return x - 1


@fault("captured", "forward", "aten.mul_.Tensor")
class StaleBuffer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.ones(16))

    def forward(self, x):
        if not torch.compiler.is_compiling():
            self.mean.mul_(0.9)  # FAULT
        return x * 2


@fault("captured", "forward", "aten.rand.default")
def drawn_once_more(x):
    if torch.compiler.is_compiling():
        x = x + torch.rand(1) * 0  # FAULT
    return x.cos()


# -- AOTAutograd's graphs --------------------------------------------------------------------------


@fault(
    "AOT", "forward", "aten.silu.default",
    inside=decomposed(aten.silu.default, lambda x: x * torch.sigmoid(x * 1.01)),
)  # fmt: skip
def silu(x):
    y = x * 2
    y = F.silu(y)  # FAULT
    return y.sum(-1)


@fault(
    "AOT", "forward", "aten.gelu.default", args=leaf,
    inside=decomposed(aten.gelu.default, lambda x, approximate="none": x * torch.sigmoid(1.7 * x)),
)  # fmt: skip
def gelu(x):
    y = x + 1
    y = F.gelu(y)  # FAULT
    return y * y


@fault(
    "AOT", "forward", "aten._softmax.default", compiled={"dynamic": True},
    inside=decomposed(
        aten._softmax.default,
        lambda x, dim, half: torch.exp(x) / torch.exp(x).sum(dim, True).add(1),
    ),
)  # fmt: skip
def softmax_of_dynamic_shapes(x):
    y = x.tanh()
    y = y.softmax(-1)  # FAULT
    return y.log()


@fault(
    "AOT", "backward", "aten.silu_backward.default", args=leaf,
    inside=decomposed(aten.silu_backward.default, lambda g, x: g * torch.sigmoid(x)),
)  # fmt: skip
def silu_backward(x):
    y = x * 3
    y = F.silu(y)  # FAULT
    return y.sin()


@fault(
    "AOT", "backward", "aten.gelu_backward.default", args=leaf, compiled={"dynamic": True},
    inside=decomposed(
        aten.gelu_backward.default, lambda g, x, approximate="none": g * torch.sigmoid(1.7 * x)
    ),
)  # fmt: skip
def gelu_backward_of_dynamic_shapes(x):
    y = F.gelu(x)  # FAULT
    return y * 2


@fault(
    "AOT", "backward", "aten.tanh_backward.default", args=leaf,
    inside=decomposed(aten.tanh_backward.default, lambda g, y: g * (1 - y)),
)  # fmt: skip
def tanh_backward(x):
    y = x.tanh()  # FAULT
    return y.exp()


@fault(
    "AOT", "forward", "aten.exp.default",
    inside=changed("joint_custom_post_pass", put_after(aten.exp.default, aten.mul.Tensor, 1.001)),
)  # fmt: skip
def joint_pass(x):
    y = x.sin()
    y = y.exp()  # FAULT
    return y.log() + 1


@fault(
    "AOT", "forward", "aten.softplus.default", args=two,
    inside=decomposed(
        aten.softplus.default, lambda x, beta=1, threshold=20: torch.log1p(torch.exp(x)) * 0.999
    ),
)  # fmt: skip
def softplus_of_two(x, other):
    y = x * other
    y = F.softplus(y)  # FAULT
    return y - other


# -- Inductor's passes -----------------------------------------------------------------------------


def in_bfloat16(graph, node):
    one, other = (
        call(graph, node, torch.ops.prims.convert_element_type.default, arg, torch.bfloat16)
        for arg in node.args
    )
    product = call(graph, node, aten.mm.default, one, other)
    return call(graph, node, torch.ops.prims.convert_element_type.default, product, torch.float32)


@fault(
    "post-grad", "forward", "aten.mm.default",
    inside=changed("post_grad_custom_post_pass", put_in_place(aten.mm.default, in_bfloat16)),
)  # fmt: skip
def product_in_bfloat16(x):
    y = x.sin()
    y = y @ y.t()  # FAULT
    return y.cos()


@fault(
    "post-grad", "backward", "aten.mm.default", args=leaf,
    inside=changed(
        "post_grad_custom_post_pass", of_gradients(put_in_place(aten.mm.default, in_bfloat16))
    ),
)  # fmt: skip
def gradient_in_bfloat16(x):
    y = x.tanh()
    y = y @ WEIGHT  # FAULT
    return y * 1000


@fault(
    "post-grad", "forward", "aten.exp.default", args=leaf, compiled={"dynamic": True},
    inside=changed(
        "post_grad_custom_post_pass", put_after(aten.exp.default, aten.add.Tensor, 0.01)
    ),
)  # fmt: skip
def post_pass_of_dynamic_shapes(x):
    y = x.exp()  # FAULT
    return y.sqrt()


def without_writes(graph):
    for node in nodes(graph, aten.copy_.default):
        node.replace_all_uses_with(node.args[1])
        graph.erase_node(node)


@fault(
    "post-grad", "forward", "aten.copy_.default",
    inside=changed("post_grad_custom_post_pass", without_writes),
)  # fmt: skip
class BufferWithoutWrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(16))

    def forward(self, x):
        self.mean.copy_(self.mean * 0.9 + x.mean(0) * 0.1)  # FAULT
        return x * 2


def draw_more(graph):
    first = next(node for node in graph.nodes if node.op != "placeholder")
    with graph.inserting_before(first):
        node = graph.call_function(aten.rand.default, ([3],), {"device": torch.device("cpu")})
    node.meta["val"] = first.meta["val"].new_empty(3)
    node.meta["stack_trace"] = first.meta.get("stack_trace")


@fault(
    "post-grad", "forward", "aten.rand.default",
    inside=changed("post_grad_custom_post_pass", draw_more),
)  # fmt: skip
def one_more_draw_in_a_pass(x):
    y = x.abs()  # FAULT
    return F.dropout(y, 0.5)


# -- Inductor's programs ---------------------------------------------------------------------------


def kernel(name, text):
    """A kernel that computes something else."""

    @contextlib.contextmanager
    def inside():
        from torch._inductor.codegen import cpp

        with contextlib.ExitStack() as stack:
            for owner in (cpp.CppOverrides, cpp.CppVecOverrides):
                right = getattr(owner, name)

                def wrong(*args, right=right):
                    return text.format(right(*args))

                stack.enter_context(attribute(owner, name, staticmethod(wrong)))
            yield

    return inside


@fault(
    "program", "forward", "aten.sin.default",
    inside=kernel("sin", "({0} * {0})"),
)  # fmt: skip
def kernel_of_sin(x):
    y = x.sin()  # FAULT
    return y.sum()


@fault(
    "program", "forward", "aten.tanh.default", args=two,
    inside=kernel("tanh", "({0} + {0})"),
)  # fmt: skip
def one_kernel_of_four(x, other):
    y = x * other
    y = y.tanh()  # FAULT
    y = y + 1
    return y / 3


@fault(
    "program", "backward", "aten.cos.default", args=leaf,
    inside=kernel("cos", "({0} * {0})"),
)  # fmt: skip
def kernel_of_a_gradient(x):
    y = x * 2
    y = y.sin()  # FAULT
    return y.square()


@fault(
    "program", "forward", "aten.exp.default", compiled={"dynamic": True},
    inside=kernel("exp", "({0} + {0})"),
)  # fmt: skip
def kernel_of_dynamic_shapes(x):
    y = x * 0.5
    y = y.exp()  # FAULT
    return y + 2


@fault(
    "program", "forward", "aten.add.Tensor", args=two, rtol=0.0, atol=0.0,
    inside=lambda: inductor.patch({"cpp.enable_floating_point_contract_flag": "fast"}),
)  # fmt: skip
def fused_multiply_add(x, other):
    y = x * 1.7
    y = y + other  # FAULT
    return y


@contextlib.contextmanager
def library_in_bfloat16():
    def mm(one, other, *, out):
        return out.copy_(torch.mm(one.bfloat16(), other.bfloat16()))

    with attribute(algorithms.extern_kernels, "mm", staticmethod(mm)):
        yield


@fault("program", "forward", "aten.mm.default", inside=library_in_bfloat16)
def library_call(x):
    y = x * 2
    y = y @ y.t()  # FAULT
    return y.relu()


@fault("program", "backward", "aten.mm.default", args=leaf, inside=library_in_bfloat16)
def library_call_of_a_gradient(x):
    y = Doubled.apply(x)
    return y.sin()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g @ SQUARE  # FAULT


# -- larger programs -------------------------------------------------------------------------------


@fault(
    "AOT", "forward", "aten.native_layer_norm.default", args=leaf,
    inside=decomposed(
        aten.native_layer_norm.default,
        lambda x, shape, weight, bias, eps: (
            (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + eps) * weight + bias,
            x.mean(-1, True),
            1 / (x.std(-1, keepdim=True) + eps),
        ),
    ),
)  # fmt: skip
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.norm, self.up = torch.nn.LayerNorm(16), torch.nn.Linear(16, 32)
        self.down = torch.nn.Linear(32, 16)

    def forward(self, x):
        y = self.norm(x)  # FAULT
        return x + self.down(F.gelu(self.up(y)))


@fault(
    "AOT", "backward", "aten.tanh_backward.default", args=leaf,
    inside=decomposed(aten.tanh_backward.default, lambda g, y: g * (1 - y)),
)  # fmt: skip
def own_backward_pass(x):
    y = (x * 2).tanh()  # FAULT
    y.square().mean().backward()
    return y.detach()


@fault(
    "AOT", "backward", "aten.embedding_dense_backward.default",
    args=lambda: (torch.arange(6).reshape(2, 3) % 4,),
    inside=decomposed(
        aten.embedding_dense_backward.default,
        lambda g, index, count, padding, scale: g.new_zeros(count, g.shape[-1]).index_put(
            (index,), g, accumulate=False
        ),
    ),
)  # fmt: skip
class Embedded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.words, self.out = torch.nn.Embedding(8, 4), torch.nn.Linear(4, 4)

    def forward(self, index):
        y = self.words(index)  # FAULT
        return self.out(y).sin()


def summed_in_bfloat16(graph, node):
    narrow = call(
        graph, node, torch.ops.prims.convert_element_type.default, node.args[0], torch.bfloat16
    )
    total = call(graph, node, aten.sum.dim_IntList, narrow, *node.args[1:])
    return call(graph, node, torch.ops.prims.convert_element_type.default, total, torch.float32)


@fault(
    "post-grad", "forward", "aten.sum.dim_IntList",
    inside=changed(
        "post_grad_custom_post_pass", put_in_place(aten.sum.dim_IntList, summed_in_bfloat16)
    ),
)  # fmt: skip
def sum_in_bfloat16_after_a_break(x):
    y = x.exp()
    torch._dynamo.graph_break()
    y = y.sum(-1)  # FAULT
    return y.log()


@fault(
    "post-grad", "forward", "aten.native_dropout.default",
    inside=changed(
        "post_grad_custom_pre_pass",
        put_in_place(
            aten.native_dropout.default,
            lambda graph, node: call(
                graph, node, aten.native_dropout.default, node.args[0], 0.25, True
            ),
        ),
    ),
)  # fmt: skip
def another_share_is_dropped(x):
    y = x.cos()
    y = F.dropout(y, 0.5)  # FAULT
    return y + 1


@fault("program", "forward", "aten.amax.default", args=leaf, compiled={"dynamic": True},
       inside=lambda: attribute(*_WRONG_MAXIMUM()))  # fmt: skip
def greatest_of_dynamic_shapes(x):
    y = x * 2
    y = y.amax(-1)  # FAULT
    return y.exp()


def _WRONG_MAXIMUM():
    from torch._inductor.codegen import cpp

    right = cpp.CppVecKernel.reduction_combine_vec

    def wrong(self, kind, *args, **more):
        return right(self, "sum" if kind == "max" else kind, *args, **more)

    return cpp.CppVecKernel, "reduction_combine_vec", wrong


class Log:
    def __init__(self):
        self.entries = [{"seen": []}]


@fault("captured", "forward", "Python state")
class LostInAList(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log = Log()

    def forward(self, x):
        y = x.sin()
        self.remember(y)
        return y

    def remember(self, y):
        if not torch.compiler.is_compiling():
            self.log.entries[0]["seen"].append(y.shape)  # FAULT


@fault("captured", "forward", "Python state")
def drawn_by_python(x):
    if not torch.compiler.is_compiling():
        random.random()  # FAULT
    return x * 2


@fault("captured", "forward", "aten.add.Tensor", args=leaf, compiled={"dynamic": True})
def epsilon_of_dynamic_shapes(x):
    y = x.square().mean(-1, keepdim=True)
    y = y + (1e-2 if torch.compiler.is_compiling() else 1e-1)  # FAULT
    return x * y.rsqrt()


@fault(
    "AOT", "backward", "aten._softmax_backward_data.default", args=leaf,
    inside=decomposed(aten._softmax_backward_data.default, lambda g, y, dim, dtype: g * y),
)  # fmt: skip
class SquareWeights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.q, self.k = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)

    def forward(self, x):
        weights = self.q(x) @ self.k(x).t() / 4
        weights = weights.softmax(-1)  # FAULT
        return weights @ x


@fault("captured", "forward", "aten.amax.default")
class WrittenInParts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4, 16))

    def forward(self, x):
        self.seen[1] = x.mean(0)
        if not torch.compiler.is_compiling():
            self.seen[2] = x.amax(0)  # FAULT
        return x + self.seen.sum(0)


@fault(
    "AOT", "forward", "aten.tanh.default", args=leaf,
    inside=changed("joint_custom_post_pass", put_after(aten.tanh.default, aten.mul.Tensor, 1.01)),
)  # fmt: skip
class BetweenTwoBreaks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = torch.nn.Linear(16, 16)

    def forward(self, x):
        x = self.a(x)
        torch._dynamo.graph_break()
        x = self.a(x.tanh())  # FAULT
        torch._dynamo.graph_break()
        return [x.cos().sum(), self.a(x)]


@fault(
    "post-grad", "forward", "aten.rsqrt.default", args=leaf,
    inside=changed(
        "post_grad_custom_post_pass", put_after(aten.rsqrt.default, aten.mul.Tensor, 1.02)
    ),
)  # fmt: skip
class NormWithAPass(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.a = torch.nn.LayerNorm(16), torch.nn.Linear(16, 16)

    def forward(self, x):
        y = self.norm(self.a(x))  # FAULT
        return y.sigmoid()


@fault("program", "backward", "aten.log.default", args=leaf, inside=kernel("log", "({0} + {0})"))
def kernel_of_many_branches(x):
    y = x * x + 1
    y = y.pow(y)  # FAULT
    return y.sum(0)


NAMES = sorted(FAULTS)
