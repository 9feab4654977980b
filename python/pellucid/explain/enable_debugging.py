# SPDX-License-Identifier: Apache-2.0
"""``prepare_debug`` and ``debug`` under the names of depyf's modules, and its own way to a dump.

A capture needs none of the rest: this is for programs that build a dump of their own from it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import warnings
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Callable, Iterator, Mapping

from pellucid.decompiler import DecompilationError, Decompiler
from pellucid.dump.model.names import identifier
from pellucid.torch import debug, prepare_debug
from pellucid.torch.taps import graph_hooks, hooks

__all__ = ["DebuggableHook", "debug", "enable_bytecode_hook", "patch", "prepare_debug"]

_PATCHED = (
    "patched__exec_with_source",
    "patched_boxed_run",
    "patched_lazy_format_graph_code",
    "patched_load_by_key_path",
)


@dataclass
class DebuggableHook:
    """A bytecode hook of Dynamo's that makes each frame run from a file.

    A frame that is not proven keeps Dynamo's code, with a warning.

    Args:
        dump_src_dir: the directory of the files, ``__transformed_code_0_for_forward.py``.
        log_bytecode: also write the code objects beside the file, if ``dill`` is installed.
    """

    dump_src_dir: str
    log_bytecode: bool
    optimized_code_and_module: list[list[Any]] = field(default_factory=list, init=False)
    """The code objects that were compiled, each with its globals."""

    def __call__(self, code: CodeType, new_code: CodeType) -> CodeType | None:
        """Return the code that runs in place of ``new_code``, or None."""
        scope: Mapping[str, Any] = graph_hooks.frame_being_compiled(code).globals
        self.optimized_code_and_module.append([code, scope])
        name = f"__transformed_code_%s_for_{identifier(code.co_name)}.py"
        try:
            made = Decompiler.decompile_and_compile_like(
                new_code, code, filepath_template=os.path.join(self.dump_src_dir, name)
            )
        except DecompilationError as error:
            warnings.warn(f"pellucid: {code.co_name} keeps Dynamo's code: {error}", stacklevel=2)
            return None
        if self.log_bytecode:
            _write_codes(made.co_filename, code, new_code, made)
        return made


def _write_codes(path: str, original: CodeType, transformed: CodeType, made: CodeType) -> None:
    codes = {
        "original_bytecode": original,
        "transformed_bytecode": transformed,
        "decompiled_and_compiled_back_bytecode": made,
    }
    for kind, code in codes.items():
        with contextlib.suppress(Exception):  # not every constant of Dynamo's can be written
            dumped = importlib.import_module("dill").dumps(code)
            with open(f"{path}.{kind}", "wb") as file:
                file.write(dumped)


@contextlib.contextmanager
def patch(parent: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute inside the block; do nothing if there is no such attribute."""
    missing = object()
    before = getattr(parent, name, missing)
    if before is missing or before is None:
        yield
        return
    setattr(parent, name, value)
    try:
        yield
    finally:
        setattr(parent, name, before)


@contextlib.contextmanager
def enable_bytecode_hook(hook: Callable[[CodeType, CodeType], CodeType | None]) -> Iterator[None]:
    """Call a bytecode hook for each frame that Dynamo compiles inside the block."""
    remove = hooks.add_bytecode_hook(hook)
    try:
        yield
    finally:
        remove()


def __getattr__(name: str) -> Any:
    if name not in _PATCHED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("pellucid.explain.patched"), name)
