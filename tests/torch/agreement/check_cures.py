# SPDX-License-Identifier: Apache-2.0
"""Plant 40 differences between compiled code and eager, and check the cures that are named.

Run it as `python tests/torch/agreement/check_cures.py [WORD]`.  Each row plants one difference: a
wrong decomposition, a wrong lowering, a broken pass, or a setting that changes numbers.  A cure is
right if it names what was planted.  It is false if the function, compiled with the statement and
nothing of pellucid's search, still differs from eager; there must be none.
"""

import contextlib
import sys
import time
import warnings

import torch
import torch._inductor.compile_fx
import torch._inductor.config as config
from pellucid import find_difference
from pellucid.torch.taps import changes
from torch._inductor import decomposition, lowering

aten = torch.ops.aten
F = torch.nn.functional
ROWS = []


def row(name, plant, function, *args, expects, rtol=None, atol=None):
    ROWS.append((name, plant, function, args, expects, {"rtol": rtol, "atol": atol}))


def entry(table, key, value):
    """Plant a value in a table."""

    @contextlib.contextmanager
    def plant():
        known = table.get(key)
        table[key] = value
        decomposition.fast_random_decomps.cache_clear()
        try:
            yield
        finally:
            table.pop(key) if known is None else table.update({key: known})
            decomposition.fast_random_decomps.cache_clear()

    return plant


def setting(**values):
    return lambda: config.patch({name.replace("__", "."): value for name, value in values.items()})


torch.manual_seed(0)
x, y, z = (torch.randn(64, 48) for _ in range(3))
positive = x.abs() + 0.5

# Wrong decompositions.
for operation, function, args in [
    (aten.silu.default, F.silu, (x,)),
    (aten.mish.default, F.mish, (x,)),
    (aten.elu.default, F.elu, (x,)),
    (aten.softplus.default, F.softplus, (x,)),
    (aten.hardsigmoid.default, F.hardsigmoid, (x,)),
    (aten.hardswish.default, F.hardswish, (x,)),
    (aten.leaky_relu.default, F.leaky_relu, (x,)),
    (aten.addcmul.default, torch.addcmul, (x, y, z)),
    (aten.addcdiv.default, torch.addcdiv, (x, y, positive)),
    (aten.lerp.Scalar, torch.lerp, (x, y, 0.3)),
    (aten._softmax.default, lambda v: torch.softmax(v, -1), (x,)),
    (aten.logit.default, torch.logit, (torch.rand(64, 48),)),
]:

    def wrong(*given, operation=operation, **named):
        # Right but for a hundredth.
        return sum(v for v in given if isinstance(v, torch.Tensor)) * 0.01

    row(
        f"decomposition of {operation}",
        entry(decomposition.decompositions, operation, wrong),
        function,
        *args,
        expects=f"pop(torch.ops.{operation}, None)",
    )

# Wrong lowerings.
for operation, other, function, args in [
    (aten.exp.default, aten.sin.default, torch.exp, (x,)),
    (aten.tanh.default, aten.sin.default, torch.tanh, (x,)),
    (aten.sqrt.default, aten.rsqrt.default, torch.sqrt, (positive,)),
    (aten.log.default, aten.exp.default, torch.log, (positive,)),
    (aten.cos.default, aten.sin.default, torch.cos, (x,)),
    (aten.erf.default, aten.tanh.default, torch.erf, (x,)),
    (aten.sigmoid.default, aten.tanh.default, torch.sigmoid, (x,)),
    (aten.abs.default, aten.neg.default, lambda v: torch.abs(v) + 1, (x,)),
    (aten.maximum.default, aten.minimum.default, torch.maximum, (x, y)),
    (aten.floor.default, aten.ceil.default, lambda v: torch.floor(v) * 2, (x,)),
]:
    row(
        f"lowering of {operation}",
        entry(lowering.lowerings, operation, lowering.lowerings[other]),
        function,
        *args,
        expects=f"make_fallback(torch.ops.{operation}",
    )


# Broken passes.
def changing(target, number):
    """A pass that changes a number of each such operation."""

    def change(graph):
        for node in graph.nodes:
            if node.target is target and isinstance(node.args[1], float):
                node.args = (node.args[0], node.args[1] + number)

    return change


def dropping(target):
    """A pass that drops each such operation."""

    def drop(graph):
        for node in graph.nodes:
            if node.target is target:
                node.replace_all_uses_with(node.args[0])

    return drop


def scaled(v):
    return torch.tanh(v * 3.5 + 0.25).sum(-1)


for name in (
    *("post_grad_custom_post_pass", "post_grad_custom_pre_pass"),
    *("joint_custom_post_pass", "joint_custom_pre_pass"),
):
    for broken in (
        *(changing(aten.mul.Tensor, 0.5), changing(aten.add.Tensor, 0.5)),
        dropping(aten.tanh.default),
    ):
        row(name, setting(**{name: broken}), scaled, x, expects=f"{name} = None")


# Settings that change numbers, compared bit for bit.
def mixed(v, w):
    return (v.bfloat16() * w.bfloat16() + w.bfloat16()).float().sum(-1)


def halves(v, w):
    return torch.tanh(v.half() * 1.7) * w.half() + v.half()


def contracted(v, w, u):
    return v * w + u


for name, function, args in [
    ("bfloat16", mixed, (x, y)),
    ("float16", halves, (x, y)),
    ("bfloat16 chain", lambda v: ((v.bfloat16() * 1.1 + 0.3) * 0.7 - 0.2) * 1.3, (x,)),
]:
    wanted = "emulate_precision_casts = True"
    row(name, contextlib.nullcontext, function, *args, expects=wanted, rtol=0, atol=0)
# The kernel of the one operation is a smaller change than the setting.
row(
    "fused multiply-add",
    setting(cpp__enable_floating_point_contract_flag="fast"),
    contracted,
    *(x, y, z),
    expects="make_fallback(torch.ops.aten.add.Tensor",
    rtol=0,
    atol=0,
)
row(
    "unsafe mathematics",
    setting(cpp__enable_unsafe_math_opt_flag=True),
    lambda v, w: (v + w) - v,
    *(x * 1e4, y),
    expects="make_fallback(torch.ops.aten.sub.Tensor",
    rtol=0,
    atol=0,
)
row(
    "reassociation",
    contextlib.nullcontext,
    lambda v: v.sum(-1),
    x,
    expects="make_fallback(torch.ops.aten.sum.dim_IntList",
    rtol=0,
    atol=0,
)


def differs(function, args, tolerance):
    """Compile and compare, without anything of the search."""
    torch.compiler.reset()
    eager, compiled = function(*args), torch.compile(function)(*args)
    rtol = 1e-4 if tolerance["rtol"] is None else tolerance["rtol"]
    atol = 1e-5 if tolerance["atol"] is None else tolerance["atol"]
    return not torch.allclose(eager, compiled, rtol, atol, equal_nan=True)


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    found = right = wrong = none = 0
    for name, plant, function, args, expects, tolerance in ROWS:
        if word not in name:
            continue
        begin = time.monotonic()
        with plant():
            torch.compiler.reset()
            difference = find_difference(function, *args, **tolerance, cure=True)
            cure = difference.cure
            told = "no difference" if cure is None else str(cure)
            found += cure is not None
            if cure is not None and cure.change:
                with changes.applied(cure.change):
                    is_false = differs(function, args, tolerance)
                wrong += is_false
                right += not is_false and expects in cure.change
                mark = "FALSE" if is_false else "right" if expects in cure.change else "other"
            else:
                none += cure is not None
                mark = "-"
        print(f"{mark:6} {name}: {told} [{time.monotonic() - begin:.1f} s]", flush=True)
    print(f"{found} differences, {right} cured by what was planted, {none} without, {wrong} false")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
