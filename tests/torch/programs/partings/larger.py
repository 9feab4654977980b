"""Faults of every stage in larger programs."""

import random

import torch
from torch.nn import functional as F

from .kit import (
    aten,
    attribute,
    call,
    changed,
    decomposed,
    fault,
    kernel,
    leaf,
    put_after,
    put_in_place,
)


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
