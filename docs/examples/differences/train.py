import torch
import torch._inductor.config


def drop_tiny_constants(graph):
    """A pass of our own: what is added is so small that it does not matter. Is it?"""
    for node in graph.nodes:
        if node.target is torch.ops.aten.add.Tensor and isinstance(node.args[1], float):
            if abs(node.args[1]) < 1e-4:
                node.replace_all_uses_with(node.args[0])


torch._inductor.config.post_grad_custom_post_pass = drop_tiny_constants
torch.manual_seed(0)
norm = torch.nn.LayerNorm(16)
quiet = torch.randn(6, 16) * 1e-3


def step():
    return norm(quiet)
