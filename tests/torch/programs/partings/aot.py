"""Faults of AOTAutograd's graphs: wrong decompositions and joint passes."""

import torch
from torch.nn import functional as F

from .kit import aten, changed, decomposed, fault, leaf, put_after, two


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


@fault(
    "AOT", "forward", "aten.norm.Scalar",
    inside=decomposed(aten.norm.Scalar, lambda x, p: x.abs().pow(p).sum().pow(1 / p).double()),
)  # fmt: skip
def norm_in_float64(x):
    y = x * 2
    y = aten.norm.Scalar(y, 3)  # FAULT
    return y + 1
