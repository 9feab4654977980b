# compile [0/0] · the graph that Dynamo captured
# When torch runs this graph as Python it runs from this file: breakpoints are hit.
import torch
from torch import device, inf, nan  # noqa: F401  names that torch.fx prints bare


class GraphModule(torch.nn.Module):
    def forward(self, L_a_: "f32[3][1]cpu", L_b_: "f32[3][1]cpu"):
        l_a_ = L_a_
        l_b_ = L_b_

        # File: /home/me/toy.py:5 in toy, code: x = a / (torch.abs(a) + 1)
        abs_1: "f32[3][1]cpu" = torch.abs(l_a_)
        add: "f32[3][1]cpu" = abs_1 + 1;  abs_1 = None
        x: "f32[3][1]cpu" = l_a_ / add;  l_a_ = add = None

        # File: /home/me/toy.py:6 in toy, code: if b.sum() < 0:
        sum_1: "f32[][]cpu" = l_b_.sum();  l_b_ = None
        lt: "b8[][]cpu" = sum_1 < 0;  sum_1 = None
        return (lt, x)


def example_inputs():
    """Inputs of the kind that torch compiled for; the values are random."""
    torch.manual_seed(0)
    return [
        torch.randn([3]),  # L_a_
        torch.randn([3]),  # L_b_
    ]


if __name__ == "__main__":
    graph = GraphModule()
    with torch.set_grad_enabled(True):
        result = graph(*example_inputs())
    for value in result if isinstance(result, (list, tuple)) else [result]:
        print(getattr(value, "dtype", type(value)), list(getattr(value, "shape", [])))
