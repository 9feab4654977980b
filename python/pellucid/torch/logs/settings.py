# SPDX-License-Identifier: Apache-2.0
"""The settings and versions in torch's metrics of a compile."""

from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

_TABLES = {
    "dynamo_config": "torch._dynamo.config",
    "functorch_config": "torch._functorch.config",
    "inductor_config": "torch._inductor.config",
    "compiler_config": "torch.compiler.config",
}
_LARGEST = 2_000_000
_LONGEST = 500
"""Longer values are truncated to this many characters."""
_DEFAULTS: Mapping[str, Any] = {
    "torch._dynamo.config.accumulated_recompile_limit": 256,
    "torch._dynamo.config.disable": False,
    "torch._dynamo.config.recompile_limit": 8,
    "torch._dynamo.config.suppress_errors": False,
    "torch._inductor.config.emulate_precision_casts": False,
}
"""The defaults of settings that findings use; they are the same in every release of torch.

For all other settings, a log does not show which are at their defaults.
"""


def settings_of(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in one compile's metrics, by full name.

    >>> settings_of({"dynamo_config": '{"recompile_limit": 4}'})
    {'torch._dynamo.config.recompile_limit': 4}
    """
    found: dict[str, Any] = {}
    for name, module in _TABLES.items():
        text = metrics.get(name)
        if not isinstance(text, str) or len(text) > _LARGEST:
            continue
        try:
            table = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(table, dict):
            found.update((f"{module}.{setting}", value) for setting, value in table.items())
    return found


def changed(settings: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the settings that are not at their defaults, or that differ in another log.

    >>> one, two = {"a.b": 1, "a.c": 2}, {"a.b": 1, "a.c": 3}
    >>> changed(one, [two])
    {'a.c': '2'}
    """
    found = {name: v for name, v in settings.items() if v != _DEFAULTS.get(name, v)}
    for name, value in settings.items():
        if any(other and other.get(name, value) != value for other in others):
            found[name] = value
    return {name: _shown(found[name]) for name in sorted(found)}


def versions_of(metrics: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions in one compile's metrics.

    >>> versions_of({"python_version": "3.11.7 (main, May) [GCC]", "pytorch_version": "2.13.0"})
    {'python': '3.11.7', 'torch': '2.13.0'}
    """
    python, torch = metrics.get("python_version"), metrics.get("pytorch_version")
    found = {}
    if isinstance(python, str) and python:
        found["python"] = python.split()[0][:80] if python.split() else ""
    if isinstance(torch, str) and torch:
        found["torch"] = torch[:80]
    return found


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
