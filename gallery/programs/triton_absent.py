# SPDX-License-Identifier: Apache-2.0
"""A kernel of one's own in Triton, on a machine that has none: what the program does instead.

Look at which branch was captured: `HAS_TRITON` was read while tracing, and is a guard.
"""

import importlib.util

import torch

FAMILY = "operators"
BACKEND = "aot_eager"
HAS_TRITON = importlib.util.find_spec("triton") is not None and torch.cuda.is_available()


def add_by_triton(x, y):
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, y, out, count, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < count
        tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)

    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out


@torch.compile(backend=BACKEND)
def add(x, y):
    if HAS_TRITON and x.is_cuda:
        return add_by_triton(x, y)
    return x + y


def main():
    torch.manual_seed(0)
    x, y = torch.randn(7, requires_grad=True), torch.randn(7)
    z = add(x, y)
    z.sum().backward()
    return {"output": z, "gradient": x.grad}
