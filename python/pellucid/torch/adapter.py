# SPDX-License-Identifier: Apache-2.0
"""The decompiler as one function, with the signature that round-trip harnesses expect."""

from __future__ import annotations

import contextlib
import linecache
from types import CodeType
from typing import TYPE_CHECKING, Any

from pellucid.dump.model.names import identifier

from .dynamo.rewrite import decompilation_behind, decompiled, rewrite
from .taps import origins
from .taps.graph_hooks import uncompiled

if TYPE_CHECKING:
    from pellucid.result import Decompilation


class NotProven(ValueError):
    """The verdict on the decompiled source is below ``equivalent``."""


def roundtrip(original: CodeType, transformed: CodeType) -> CodeType:
    """Decompile Dynamo's code and return the recompiled code to run in its place.

    Raises the original error, or :class:`NotProven` if the verdict is below ``equivalent``.
    """
    rewriting = rewrite(transformed, origins.origin_in_hook(original))
    if rewriting.source is None:
        raise ValueError(rewriting.verdict.reason)
    if not rewriting.verdict.proven:
        raise NotProven(f"{rewriting.verdict.status}: {rewriting.verdict.reason}")
    filename = f"<pellucid {identifier(original.co_name)}>"
    code = rewriting.compile(rewriting.source, filename)
    lines = rewriting.source.splitlines(keepends=True)
    linecache.cache[filename] = (len(rewriting.source), None, lines, filename)
    return code


def decompile_generated(value: Any, name: str | None = None) -> Decompilation | None:
    """Decompile code that Dynamo generated, as a capture does; return None for other code.

    ``value`` is a code object, or an object that has one; ``name`` replaces the function's own
    name.
    """
    from pellucid.code_objects import code_of

    value = origins.runs(value)
    with contextlib.suppress(Exception):  # on an error, decompile without this information
        code = code_of(value)
        running = decompilation_behind(code) if name is None else None
        origin = None if running else origins.origin_of(code)
        return decompiled(value, origin, name=name) if origin else running
    return None


def given_to_compile(value: Any) -> Any:
    """Return the function that ``torch.compile`` was given, or the ``forward`` of the module.

    Anything that is not a wrapper of torch's is returned as it is, a decorator's copy of its
    attributes included.
    """
    while _is_torchs(value):
        inner = uncompiled(value)
        if inner is value:
            break
        value = getattr(inner, "forward", inner)
    return value


def _is_torchs(value: Any) -> bool:
    scope = getattr(value, "__globals__", None)
    name = scope.get("__name__") if isinstance(scope, dict) else type(value).__module__
    return str(name).startswith("torch.")
