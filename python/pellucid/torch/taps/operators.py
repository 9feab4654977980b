# SPDX-License-Identifier: Apache-2.0
"""Operators that ``import torch`` alone does not provide, and the modules that register them."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any, Iterable, Iterator

from pellucid.dump.model.installed import is_of_a_package

_OPERATOR = re.compile(r"torch(?<!\wtorch)\.ops\.(\w+)\.(\w+)")  # plain text first: fast
_OF_TORCH_ITSELF = ("aten", "prim")
_IMPORTED_BY_TORCH = ("torch", "torch._prims")
_found: dict[tuple[str, str], str] = {}
"""The modules of torch that register operators; such a module stays loaded."""


def operators_to_register(body: str) -> tuple[tuple[str, str], ...]:
    """Return the operators in a printed graph that need an import, and the registering module.

    The module is empty if only the program knows it.

    >>> operators_to_register("torch.ops.aten.add.Tensor(a, b); torch.ops.mine.twice(a)")
    (('mine.twice', ''),)
    """
    found = []
    for namespace, name in dict.fromkeys(_OPERATOR.findall(body)):
        if namespace in _OF_TORCH_ITSELF:
            continue
        module = _found.get((namespace, name)) or _registered_by(namespace, name)
        if module not in _IMPORTED_BY_TORCH:
            found.append((f"{namespace}.{name}", module))
    return tuple(found)


def schemas_of(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the current schemas of operators, for all overloads of each.

    Args:
        names: the operators, as ``namespace.name``.
    """
    import torch

    found = {}
    for full in names:
        namespace, _, name = full.partition(".")
        packet: Any = getattr(getattr(torch.ops, namespace, None), name, None)
        overloads = packet.overloads() if hasattr(packet, "overloads") else ()
        schemas = [getattr(getattr(packet, each), "_schema", None) for each in overloads]
        found[full] = tuple(str(schema) for schema in schemas if schema is not None)
    return {full: schemas for full, schemas in found.items() if schemas}


def _registered_by(namespace: str, name: str) -> str:
    import torch

    operator = getattr(getattr(torch.ops, namespace, None), name, None)
    if operator is None:
        return ""
    own = type(operator).__module__
    if own.startswith("torch.") and own != "torch._ops":
        return own  # the class of a single higher-order operator
    for module, values in _loaded_of_torch():
        value = values.get(name)
        if value is not None and (value is operator or _packet(value) is operator):
            _found[namespace, name] = module
            return module
    package = sys.modules.get(namespace)
    return namespace if package is not None and _is_installed(package) else ""


def _loaded_of_torch() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, module in sorted(sys.modules.items()):
        is_own = name.startswith("torch.") and not name.startswith("torch.ops")
        if is_own and isinstance(module, ModuleType):
            yield name, vars(module)


def _packet(value: Any) -> Any:
    """Return the operator that a value is an overload of."""
    return getattr(value, "overloadpacket", None) if "OpOverload" in type(value).__name__ else None


def _is_installed(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and is_of_a_package(file)
