"""Faults of Inductor's programs: wrong kernels and library calls."""

import contextlib

import torch
import torch._inductor.config as inductor
import torch._inductor.select_algorithm as algorithms

from .kit import SQUARE, attribute, fault, kernel, leaf, two


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
