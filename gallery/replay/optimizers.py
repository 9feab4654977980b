# SPDX-License-Identifier: Apache-2.0
"""What Dynamo does around an optimizer's step, done here too.

It calls `_init_group` in earnest while it compiles, so that the guards of a version are of the
state afterwards; it keeps a weak reference to the optimizer in the function's globals; and the
parameters and the state are constants of the graph, not inputs.
"""

import inspect
import re
import types
import weakref
from typing import Any, Dict, Iterable, Iterator, Tuple

import torch
from torch._dynamo.output_graph import OutputGraph

_INIT = "_init_group"
_REFERENCE = re.compile(r"__optimizer_\w+")


def optimizer_of(local: Dict[str, Any]) -> Any:
    """The optimizer of which a method runs with these variables; None where there is none."""
    value = local.get("self")
    return value if isinstance(value, torch.optim.Optimizer) else None


def make_state(code: types.CodeType, local: Dict[str, Any]) -> None:
    """Let an optimizer make its state where Dynamo compiles a step."""
    optimizer = optimizer_of(local)
    if optimizer is None or _INIT not in code.co_names:
        return
    init = getattr(optimizer, _INIT)
    taken = list(inspect.signature(init).parameters.values())[1:]
    for group in optimizer.param_groups:
        init(group, *([] for parameter in taken if parameter.default is parameter.empty))


def refer(names: Iterable[str], scope: Dict[str, Any], local: Dict[str, Any]) -> None:
    """Put a weak reference to an optimizer where the guards of its step look for it."""
    optimizer = optimizer_of(local)
    for name in names if optimizer is not None else ():
        if _REFERENCE.fullmatch(name):
            scope[name] = weakref.ref(optimizer)


def constants(local: Dict[str, Any]) -> Dict[str, torch.Tensor]:
    """An optimizer's tensors, by the names that they have as constants of a graph."""
    optimizer = optimizer_of(local)
    found = {} if optimizer is None else dict(_tensors(optimizer))
    return {re.sub("^L__", "", OutputGraph.module_key_name(s)): t for s, t in found.items()}


def _tensors(optimizer: Any) -> Iterator[Tuple[str, torch.Tensor]]:
    """The tensors of an optimizer by where they are from, in Dynamo's words."""
    for i, group in enumerate(optimizer.param_groups):
        for j, parameter in enumerate(group["params"]):
            yield f"L['self'].param_groups[{i}]['params'][{j}]", parameter
    for i, state in enumerate(optimizer.state.values()):
        held = f"L['self'].state[list(dict.keys(L['self'].state))[{i}]]"
        for j, (key, value) in enumerate(state.items()):
            if isinstance(value, torch.Tensor):
                yield f"{held}[{key!r}]", value
                yield f"{held}[list(dict.keys({held}))[{j}]]", value
