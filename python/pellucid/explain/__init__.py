# SPDX-License-Identifier: Apache-2.0
"""What programs written for depyf look for below ``depyf.explain``."""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any

from . import global_variables

if TYPE_CHECKING:
    from .utils import DynamoOptimizationResult

__all__ = ["DynamoOptimizationResult", "dump_src", "global_variables"]


def dump_src(original_code: CodeType, module: dict[str, Any] | None) -> str:
    """Return what torch runs in place of a function, as source: ``full_code_for_*.py``.

    Args:
        original_code: the function's code, which has been compiled.
        module: the function's globals, which have what the compiled code calls.
    """
    return _extract_artifacts(original_code, module).to_src()


def _extract_artifacts(
    original_code: CodeType, module: dict[str, Any] | None
) -> DynamoOptimizationResult:
    from .utils import DynamoOptimizationResult

    return DynamoOptimizationResult(original_code, None, module)


if not TYPE_CHECKING:  # loaded on first use: captures import this package

    def __getattr__(name: str) -> Any:
        if name != "DynamoOptimizationResult":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .utils import DynamoOptimizationResult

        return DynamoOptimizationResult
