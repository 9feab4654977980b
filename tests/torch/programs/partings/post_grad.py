"""Faults of Inductor's passes over the graphs."""

import torch
from torch.nn import functional as F

from .kit import (
    WEIGHT,
    aten,
    call,
    changed,
    fault,
    leaf,
    nodes,
    of_gradients,
    put_after,
    put_in_place,
)


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
