# SPDX-License-Identifier: Apache-2.0
"""The decompiler's Python API: from live objects and `.pyc` files to source and verdict."""

import dataclasses
import sys
from typing import Any, Dict, List, Optional, Tuple

from pellucid import _core
from pellucid.forms import BEST, proven_form, verdict_of
from pellucid.interpreters import find_interpreter
from pellucid.live import decompiled_live, search_live
from pellucid.result import Decompilation, result_of
from pellucid.verdicts import Verdict


def decompile(
    obj: Any, *, name: Optional[str] = None, line_length: int = 100, say_lost: bool = False
) -> str:
    """Return the source of a function, method, generator, coroutine, class, module or code object.

    `name` is the name to print instead of the object's own; `line_length` and `say_lost` are those
    of `decompile_pyc`. Code that Dynamo generated reads as in the files of a capture, whatever the
    options. For what `torch.compile` returned, it is the source of the function or
    of the module's `forward`. Raises TypeError if the object has no code, DecompileError if its
    code is invalid.

    >>> def add(a, b):
    ...     return a + b
    >>> print(decompile(add), end="")
    def add(a, b):
        return a + b
    """
    layout = {"line_length": line_length, "say_lost": say_lost}
    found = _of_torch(obj, name)
    return (found or decompiled_live(_own(obj), name, False, {}, None, layout=layout)).source


def decompile_ex(
    obj: Any,
    *,
    name: Optional[str] = None,
    unstructured: bool = False,
    facts: Optional[Dict[str, List[str]]] = None,
    verify: str = "best",
    line_length: int = 100,
    say_lost: bool = False,
) -> Decompilation:
    """Decompile `obj`; return its source, verdict, line map and opaque constants.

    A body that is not proven is tried in other forms, down to a loop over a state. What is known of
    code that Dynamo generated in this process is used, unless `facts` or `unstructured` is given.
    For what `torch.compile` returned, it is the source of the function or of the module's
    `forward`, and `notes` says so.

    Args:
        obj: a function, method, generator, coroutine, class, module or code object.
        name: the name to print instead of the object's own.
        unstructured: write every body with a branch as a loop over a state.
        facts: what is known about generated code beyond its bytecode (see `src/object/facts.h`).
            Source and verdict build on it, and the source keeps nothing alive longer than the
            code does.
        verify: "strict" for a verdict that also says whether each loop handles an interruption,
            such as KeyboardInterrupt, where the code does. Code that Dynamo generated in this
            process has no such verdict.
        line_length: the columns of a line; a longer one is broken where that is possible.
        say_lost: add comments on what the source had and the text cannot have.

    Raises:
        TypeError: `obj` has no Python code.
        DecompileError: its code is invalid.
        ValueError: `verify` is neither "best" nor "strict".
    """
    if verify not in BEST:
        raise ValueError(f'verify is "best" or "strict", not {verify!r}')

    own = _own(obj)
    notes = (_COMPILED,) if own is not obj else ()

    def judged(found: Decompilation) -> Decompilation:
        return dataclasses.replace(found, _strict=verify == "strict", notes=found.notes + notes)

    layout = {"line_length": line_length, "say_lost": say_lost}
    if unstructured:
        return judged(decompiled_live(own, name, True, {}, facts, layout=layout))
    generated = _of_torch(obj, name) if facts is None else None
    return generated or search_live(own, name, facts, revise=judged, layout=layout)


_COMPILED = "this is what torch.compile was given, not the wrapper it returned"


# Imported here so that a process without PyTorch does not load the PyTorch side.
def _of_torch(obj: Any, name: Optional[str]) -> Optional[Decompilation]:
    """Return the decompilation of code that Dynamo generated; None for other code."""
    if "torch._dynamo.convert_frame" not in sys.modules:
        return None
    from pellucid.torch.adapter import decompile_generated

    return decompile_generated(obj, name)


def _own(obj: Any) -> Any:
    """Return the function passed to `torch.compile` for its result; other objects unchanged."""
    if "torch._dynamo.convert_frame" not in sys.modules:
        return obj
    from pellucid.torch.adapter import given_to_compile

    return given_to_compile(obj)


def decompile_pyc(
    data: bytes,
    *,
    keep_lines: bool = False,
    unstructured: bool = False,
    version: Optional[Tuple[int, int]] = None,
    line_length: int = 100,
    say_lost: bool = False,
) -> Decompilation:
    """Decompile the bytes of a `.pyc` file of CPython 3.8-3.15. Nothing in it is executed.

    Args:
        data: the bytes of the file. If its header is wrong or missing, the version is the one that
            fits, and `notes` says so.
        keep_lines: keep statements on their original lines, so that tracebacks and coverage match.
        unstructured: do not recover control flow.
        version: the Python version of the file, such as `(3, 12)`.
        line_length: the columns of a line; a longer one is broken where that is possible.
        say_lost: add comments where the bytecode shows that the source had what the text cannot
            have: annotations of locals, folded expressions, constants as statements. Only
            Python 3.11 and later show them.

    Raises:
        DecompileError: the bytes do not contain a code object.
    """
    layout = {"keep_lines": keep_lines, "line_length": line_length, "say_lost": say_lost}
    return _file(data, {}, layout, unstructured, version)


def _file(
    data: bytes,
    forms: "Dict[str, int]",
    layout: Dict[str, Any],
    unstructured: bool,
    version: Optional[Tuple[int, int]],
    relower: bool = False,
    line_map: bool = True,
    strict: bool = False,
    syntax: Optional[Tuple[int, int]] = None,
    facts: Optional[Dict[str, List[str]]] = None,
) -> Decompilation:
    raw = _core.decompile_pyc(
        data,
        unstructured=unstructured,
        forms=forms,
        version=version,
        verify=relower,
        line_map=line_map,
        strict=strict,
        syntax=syntax,
        facts=facts,
        **layout,
    )
    how = {"_unstructured": unstructured, "_forms": forms, "_wanted": version, "_strict": strict}
    return result_of(raw, None, data, **how)


def of_source(text: str) -> Decompilation:
    """Return the decompilation of a source text that was found in a file: the text is unchanged."""
    note = "the constant holds the text of a source, which is given as it is"
    return Decompilation(text, {}, (), (), sys.version_info[:2], {}, (note,))


def prove_pyc(
    data: bytes,
    tier: str = "best",
    *,
    keep_lines: bool = False,
    unstructured: bool = False,
    version: Optional[Tuple[int, int]] = None,
    line_map: bool = True,
    syntax: Optional[Tuple[int, int]] = None,
    line_length: int = 100,
    say_lost: bool = False,
) -> "Tuple[Decompilation, Verdict]":
    """Decompile like `decompile_pyc`, and try other forms of unproven bodies.

    `tier` is "recompiled", "relowered" or "best": "recompiled" if there is an interpreter for it;
    "strict" is "best", and also compares the handlers of interruptions. Returns the decompilation
    with its verdict; raises what `decompile_pyc` raises. Without `line_map` the map is empty, which
    saves some time. `syntax` is the version that can read the source, if not the file's.
    """
    # Decompiling and relowering together takes half the time of doing one after the other.
    relower = tier == "relowered" or (
        tier in BEST and find_interpreter(version or _core.pyc_version(data)) is None
    )
    layout = {"keep_lines": keep_lines, "line_length": line_length, "say_lost": say_lost}
    how = (version, relower, line_map, tier == "strict", syntax)
    if unstructured:
        found = _file(data, {}, layout, True, *how)
        return found, verdict_of(found, tier)
    return proven_form(lambda forms: _file(data, forms, layout, False, *how), tier)


def generated_file(
    data: bytes, version: Tuple[int, int], facts: Dict[str, List[str]], forms: "Dict[str, int]"
) -> Decompilation:
    """Decompile marshalled code of a function that a program generated, with what is known of it.

    The source is in the syntax of the running Python, and no interpreter is needed. The facts name
    the function as nested (see `src/object/facts.h`). Raises what `decompile_pyc` raises.
    """
    how = (version, True, True, False, sys.version_info[:2], facts)
    return _file(data, forms, {}, False, *how)


def contents_of(data: bytes, version: Optional[Tuple[int, int]] = None) -> Dict[str, Any]:
    """Return the contents of a file's bytes, whether or not its source shows them.

    The keys are those of `inspect_pyc` in `src/python/module.cpp`. Raises DecompileError if the
    bytes do not contain a code object.
    """
    return _core.inspect_pyc(data, version)
