# SPDX-License-Identifier: Apache-2.0
"""The findings of a capture as the page and ``findings.json`` write them."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any, Dict, List, Sequence

from pellucid.dump.model.events import Place
from pellucid.findings import Finding


def shown(findings: Sequence[Finding]) -> List[Dict[str, Any]]:
    """Return findings as plain values."""
    return [_values(finding) for finding in findings]


def _values(finding: Any) -> Dict[str, Any]:
    return {name: _json(value) for name, value in vars(finding).items()}


def _json(value: Any) -> Any:
    if isinstance(value, Place):
        return {"file": value.file, "line": value.line, "function": value.function}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _json(each) for name, each in asdict(value).items()}
    if isinstance(value, (list, tuple)):
        return [_json(each) for each in value]
    return value
