# SPDX-License-Identifier: Apache-2.0
"""The decompiler in the form that depyf gave it, for programs written for depyf.

New programs call :func:`pellucid.decompile` and :func:`pellucid.decompile_ex`, which also tell how
far a source is proven.
"""

from __future__ import annotations

import contextlib
import dis
import io
import itertools
import os
import tempfile
import tokenize
from dataclasses import dataclass
from types import CodeType
from typing import Any, Callable

from pellucid import decompilation
from pellucid.code_objects import code_of
from pellucid.decompilation import decompile_ex
from pellucid.errors import CannotStandIn, DecompileError
from pellucid.torch.dynamo.closures import unwrap, wrap

__all__ = ["DecompilationError", "Decompiler", "DecompilerState", "decompile"]

DecompilationError = DecompileError


@dataclass
class DecompilerState:
    """What depyf's decompiler keeps as it goes; pellucid's keeps nothing here."""

    source_code: str
    stack: list[Any]
    inside_loop: bool = False
    loop_start_index: int = -1
    loop_end_index: int = -1


def decompile(code: CodeType | Callable[..., Any]) -> str:
    """Return the source of a callable or code object, like :func:`pellucid.decompile`."""
    return decompilation.decompile(code)


class Decompiler:
    """Decompile one callable or code object.

    >>> def add(a, b):
    ...     return a + b
    >>> print(Decompiler(add).decompile(overwite_fn_name="plus"), end="")
    def plus(a, b):
        return a + b
    """

    def __init__(self, code: CodeType | Callable[..., Any]) -> None:
        self.code = code_of(code)

    def __hash__(self) -> int:
        return id(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decompiler) and self.code is other.code

    def decompile(
        self,
        indentation: int = 4,
        temp_prefix: str = "__temp_",
        overwite_fn_name: str | None = None,
    ) -> str:
        """Return the source.

        Args:
            indentation: spaces a level.
            temp_prefix: taken, and not used: temporaries get the names that say most.
            overwite_fn_name: the function's name in the source (spelled as depyf spells it).

        Raises DecompilationError for invalid code.
        """
        source = decompile_ex(self.code, name=overwite_fn_name).source
        return source if indentation == 4 else _indented(source, indentation)

    @staticmethod
    def decompile_and_compile_like(
        code_to_decompile: CodeType,
        reference_code: CodeType,
        indentation: int = 4,
        temp_prefix: str = "__temp_",
        filepath_template: str | None = None,
    ) -> CodeType:
        """Decompile code, and compile the source to code that may run in its place.

        Args:
            code_to_decompile: most often what Dynamo made.
            reference_code: what it was made from; the result takes the same arguments and cells.
            indentation: spaces a level.
            temp_prefix: taken, and not used.
            filepath_template: a path with one ``%s``; the source is written there with the first
                number that is free or holds the same source already, the function is called as the
                file is, and debuggers step through it.  Without it nothing is written.

        Raises DecompilationError when there is no source, it is not proven to mean the same, or
        the result would not fit in the place of ``reference_code``.
        """
        if filepath_template is None:
            source = _Source(code_to_decompile, reference_code.co_name, indentation)
            return source.compile_like(reference_code, "noname")
        for count in itertools.count():
            path = filepath_template % count
            name = os.path.splitext(os.path.basename(path))[0]
            source = _Source(code_to_decompile, name, indentation)
            if write_new(path, source.text):
                return source.compile_like(reference_code, path)
        raise AssertionError("counting has no end")

    @staticmethod
    def supported_opnames() -> list[str]:
        """The names of this Python's instructions; every one of them is understood."""
        return sorted(dis.opmap)


class _Unfit(DecompilationError):
    """There is a source, but no code of it that may run; that has no place in the bytecode."""

    def __str__(self) -> str:
        return self.message


class _Source:
    """The text of one file, and the code that runs from it."""

    def __init__(self, code: CodeType, name: str, indentation: int) -> None:
        self._name = name
        self._result = decompile_ex(code, name=name)
        source = self._result.source
        self.text = source if indentation == 4 else _indented(source, indentation)
        if code.co_freevars and "nonlocal" in source:
            # Alone in a file such a function is no Python.
            self.text = wrap(self.text, code.co_freevars, "closure", name) + "\n"

    def compile_like(self, reference: CodeType, filename: str) -> CodeType:
        name, result = self._name, self._result
        if not result.verdict.at_least("equivalent"):
            raise _Unfit(f"the source of {name} is not proven: {result.verdict}")
        text = unwrap(self.text)
        try:
            made = result.compile_text(text, filename)
        except (CannotStandIn, SyntaxError) as error:
            raise _Unfit(f"{name} does not compile to what may run: {error}") from error
        for field in ("co_argcount", "co_kwonlyargcount", "co_freevars", "co_cellvars"):
            if getattr(made, field) != getattr(reference, field):
                raise _Unfit(f"{field} of {name} is not that of {reference.co_name}")
        return made


def write_new(path: str, text: str) -> bool:
    """Write a file whole unless it exists; say whether the file now holds the text."""
    handle, temporary = tempfile.mkstemp(prefix=".pellucid-", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
        os.chmod(temporary, 0o644)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)  # fails where another process was faster
            return True
    finally:
        os.unlink(temporary)
    with open(path, encoding="utf-8", errors="backslashreplace") as stream:
        return stream.read() == text


def _indented(source: str, spaces: int) -> str:
    """Change the indentation from four spaces a level; strings of several lines keep theirs.

    >>> _indented("if a:\\n    if b:\\n        pass\\n", 2)
    'if a:\\n  if b:\\n    pass\\n'
    """
    lines = source.splitlines(keepends=True)
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            inside.update(range(token.start[0], token.end[0]))
    result = []
    for number, line in enumerate(lines):
        body = line.lstrip(" ")
        level, rest = divmod(len(line) - len(body), 4)
        result.append(line if number in inside else " " * (level * spaces + rest) + body)
    return "".join(result)
