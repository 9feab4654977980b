"""A custom operator whose schema is wrong: its result is a view of its argument."""

import torch

NAME = "pellucid_alias::same"
if not hasattr(torch.ops.pellucid_alias, "same"):
    torch.library.define(NAME, "(Tensor x) -> Tensor")

    @torch.library.impl(NAME, "CompositeExplicitAutograd")
    def _same(x):
        return x.view(x.shape)

    @torch.library.register_fake(NAME)
    def _described(x):
        return torch.empty_like(x)


def step(x):
    a = torch.sin(x)
    torch.ops.pellucid_alias.same(a).add_(3)
    return torch.cos(a) * 2
