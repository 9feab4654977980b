# compile [1/0] · the graph that Dynamo captured
# When torch runs this graph as Python it runs from this file: breakpoints are hit.
import torch
from torch import device, inf, nan  # noqa: F401  names that torch.fx prints bare


class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[3][1]cpu", L_b_: "f32[3][1]cpu"):
        l_x_ = L_x_
        l_b_ = L_b_

        # File: /home/me/toy.py:8 in torch_dynamo_resume_in_toy_at_6, code: return x * b
        mul: "f32[3][1]cpu" = l_x_ * l_b_;  l_x_ = l_b_ = None
        return (mul,)


def example_inputs():
    """Inputs of the kind that torch compiled for; the values are random."""
    torch.manual_seed(0)
    return [
        torch.randn([3]),  # L_x_
        torch.randn([3]),  # L_b_
    ]


if __name__ == "__main__":
    graph = GraphModule()
    with torch.set_grad_enabled(True):
        result = graph(*example_inputs())
    for value in result if isinstance(result, (list, tuple)) else [result]:
        print(getattr(value, "dtype", type(value)), list(getattr(value, "shape", [])))
