# SPDX-License-Identifier: Apache-2.0
"""The decompiler as one function, in the form that round-trip harnesses take."""

from __future__ import annotations

import linecache
from types import CodeType

from .dynamo.rewrite import rewrite
from .model.names import identifier
from .taps import hooks


class NotProven(ValueError):
    """The decompiled source is less than equivalent to the bytecode."""


def roundtrip(original: CodeType, transformed: CodeType) -> CodeType:
    """Decompile Dynamo's code and return the recompiled code to run in its place.

    Raises whatever went wrong, and :class:`NotProven` on a verdict below ``equivalent``.
    """
    rewriting = rewrite(transformed, "x", original, hooks.resume_parameters(original))
    if rewriting.source is None:
        raise ValueError(rewriting.verdict.reason)
    if not rewriting.verdict.proven:
        raise NotProven(f"{rewriting.verdict.status}: {rewriting.verdict.reason}")
    filename = f"<pellucid {identifier(original.co_name)}>"
    code = rewriting.compile(rewriting.source, filename)
    lines = rewriting.source.splitlines(keepends=True)
    linecache.cache[filename] = (len(rewriting.source), None, lines, filename)
    return code
