# SPDX-License-Identifier: Apache-2.0
"""``install`` and ``uninstall`` under the names of depyf's modules."""

from types import CodeType

from pellucid.decompiler import DecompilationError, decompile
from pellucid.torch import install, uninstall

__all__ = [
    "DecompilationError",
    "decompile",
    "install",
    "pytorch_bytecode_src_hook",
    "uninstall",
]


def pytorch_bytecode_src_hook(code: CodeType, new_code: CodeType) -> None:
    """Write the source of transformed code to torch's bytecode log: the hook of ``install``."""
    from pellucid.torch.api.bytecode_log import log_source

    log_source(code, new_code)
