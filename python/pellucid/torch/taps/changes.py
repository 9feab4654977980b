# SPDX-License-Identifier: Apache-2.0
"""Changes of Inductor that may cure a difference: one setting, pass, or operation each.

A change is a statement, and the statement itself is run to try it.  Afterwards everything is as it
was before.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterable, Iterator

from .hooks import PROBE

_CONFIG = "torch._inductor.config."
_PASSES = (
    *("post_grad_custom_post_pass", "post_grad_custom_pre_pass"),
    *("joint_custom_post_pass", "joint_custom_pre_pass", "pre_grad_custom_pass"),
)
"""The settings that hold a pass of the program's own."""
_SETTINGS: tuple[tuple[str, Any], ...] = (
    ("emulate_precision_casts", True),
    ("emulate_division_rounding", True),
    ("eager_numerics.division_rounding", True),
    ("numerics", "strict_pointwise"),
    ("cpp.enable_floating_point_contract_flag", "off"),
    ("cpp.enable_unsafe_math_opt_flag", False),
    ("joint_graph_constant_folding", False),
    ("pattern_matcher", False),
    ("split_reductions", False),
    ("numerics", "strict"),
    ("epilogue_fusion", False),
    ("cpp.max_horizontal_fusion_size", 1),
    ("max_fusion_size", 1),
    ("cpp.simdlen", 1),
    ("inplace_buffers", False),
    ("fallback_by_default", True),
)
"""The settings that change numbers, those that change the least first."""


def statements(operations: Iterable[str]) -> list[str]:
    """Return the changes that may cure a difference, the smallest first.

    Args:
        operations: the operations that differ: ``aten.silu.default``.
    """
    found = [f"{_CONFIG}{name} = None" for name in _PASSES if _setting(name) is not None]
    for operation in dict.fromkeys(operations):
        found += _of_operation(operation)
    missing = object()
    for name, value in _SETTINGS:
        if _setting(name, missing) not in (missing, value):
            found.append(f"{_CONFIG}{name} = {value!r}")
    return found


def _of_operation(operation: str) -> list[str]:
    """Return the changes of one operation: without its decomposition, and with eager's kernel."""
    import torch

    found: Any = torch.ops
    for part in operation.split("."):
        found = getattr(found, part, None) if part.isidentifier() else None
    known = getattr(PROBE.get("inductor_lowering"), "decompositions", {})
    if not isinstance(found, torch._ops.OpOverload):
        return []
    name = f"torch.ops.{operation}"
    removed = f"torch._inductor.decomposition.decompositions.pop({name}, None)"
    kernel = f"torch._inductor.lowering.make_fallback({name}, warn=False)"
    whole = f"{removed}; {kernel}" if found in known else kernel
    changes = {f"{operation} without decomposition": removed} if found in known else {}
    changes[f"{operation} by eager's kernel"] = whole
    return [change + _in_key(what) for what, change in changes.items()]


def _in_key(what: str) -> str:
    """Return a statement after which the caches on disk have no code compiled without a change.

    Their keys contain torch's settings, but no tables of operations.
    """
    if _key_tag() is None:  # torch 2.6 and earlier
        return ""
    return f"; torch.compiler.config.cache_key_tag += {f' {what}'!r}"


def _key_tag() -> str | None:
    import torch

    return getattr(getattr(torch.compiler, "config", None), "cache_key_tag", None)


def _setting(name: str, default: Any = None) -> Any:
    value = getattr(PROBE.get("inductor_lowering"), "config", None)
    for part in name.split("."):
        value = getattr(value, part, default)
    return value


@contextlib.contextmanager
def applied(statement: str) -> Iterator[None]:
    """Run a change, and no compile cache, for the code inside the block; raises what it raises."""
    patch, functorch = PROBE.get("inductor_patch"), PROBE.get("functorch_patch")
    lowering, random = PROBE.get("inductor_lowering"), PROBE.get("random_decompositions")
    if patch is None or functorch is None or lowering is None or random is None:
        raise NotImplementedError("this torch has no such tables")
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch({"fx_graph_cache": False, "fx_graph_remote_cache": False}))
        stack.enter_context(functorch({"enable_autograd_cache": False}))
        stack.enter_context(_key_tag_restored())
        # A copy of the table of decompositions, made at the first compile.
        stack.callback(random.cache_clear)
        for name in ("decompositions", "lowerings", "fallbacks"):
            stack.enter_context(_restored(getattr(lowering, name)))
        random.cache_clear()
        if statement.startswith(_CONFIG):
            name, _, value = statement[len(_CONFIG) :].partition(" = ")
            stack.enter_context(patch({name: eval(value)}))
        elif statement:
            exec(f"import torch\n{statement}", {})
        yield


@contextlib.contextmanager
def _restored(table: Any) -> Iterator[None]:
    """Restore a dictionary or a set after the block."""
    known = table.copy()
    try:
        yield
    finally:
        table.clear()
        table.update(known)


@contextlib.contextmanager
def _key_tag_restored() -> Iterator[None]:
    import torch

    known = _key_tag()
    try:
        yield
    finally:
        if known is not None:
            torch.compiler.config.cache_key_tag = known
