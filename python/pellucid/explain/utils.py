# SPDX-License-Identifier: Apache-2.0
"""What torch holds for one compiled function, now: for programs written for depyf.

A capture has all this in its files.  Here it is read from torch's cache entries, so it also works
outside a capture, for as long as the function lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import threading
from dataclasses import replace
from types import CodeType
from typing import Any, ClassVar, Iterator, Mapping, Sequence

from pellucid.decompiler import write_new
from pellucid.dump.model.events import CompileKey, Frame
from pellucid.dump.model.names import definable, slug
from pellucid.torch.capture.frames import place_of
from pellucid.torch.capture.summary import entry_of
from pellucid.torch.dynamo.rewrite import Rewriting, rewrite
from pellucid.torch.taps import graph_hooks, hooks, origins
from pellucid.torch.text.dump import transformed_name
from pellucid.torch.text.full_code import full_code_text
from pellucid.utils import decompile_ensure

__all__ = [
    "CacheResult",
    "CodeProxy",
    "DynamoOptimizationResult",
    "append_guard_code",
    "get_current_compiled_fn_name",
    "lock_on_file",
    "remove_indentation",
    "write_code_to_file_template",
]

_FUTURE = "from __future__ import annotations\n"
_reading = threading.local()


class CodeProxy:
    """The source of a function under a name that no other proxy has; ``str()`` is the name."""

    instances: ClassVar[dict[str, CodeProxy | None]] = {}
    used_instances: ClassVar[set[str]] = set()

    def __init__(self, code: str) -> None:
        lines = [line for line in code.splitlines() if line.strip()]
        self.raw_code = "".join(f"  {line}\n" for line in lines)
        self.name = ""

    def __str__(self) -> str:
        CodeProxy.used_instances.add(self.name)
        return self.name

    @property
    def code(self) -> str:
        """The source as HTML with Markdown in it, closed until it is clicked."""
        fenced = f"```python\n{self.raw_code}```"
        return f"<details>\n<summary>{self.name}</summary>\n\n{fenced}\n</details>\n"

    @staticmethod
    def get_new_name(name: str) -> str:
        """Return the name; if it ends with a colon, the first free number takes its place."""
        if not name.endswith(":"):
            return name
        names = (f"{name[:-1]}_{number}" for number in itertools.count())
        return next(name for name in names if name not in CodeProxy.instances)

    @staticmethod
    def consume_new_name(name: str) -> str:
        """Return a new name that nothing else gets."""
        new_name = CodeProxy.get_new_name(name)
        CodeProxy.instances[new_name] = None
        return new_name

    @staticmethod
    def decompile_with_name(code: Any, name: str, skip_decompile: bool = False) -> CodeProxy:
        """Decompile a function or a code object; ``skip_decompile`` leaves the source empty."""
        new_name = CodeProxy.get_new_name(name)
        code = getattr(code, "__code__", code)
        return _named("" if skip_decompile else decompile_ensure(code, new_name), new_name)

    @staticmethod
    @contextlib.contextmanager
    def record() -> Iterator[set[str]]:
        """Give the set of the names that ``str()`` is called for inside the block."""
        CodeProxy.used_instances = set()
        yield CodeProxy.used_instances


def _named(source: str, name: str) -> CodeProxy:
    proxy = CodeProxy.instances[name] = CodeProxy(source)
    proxy.name = name
    return proxy


class CacheResult:
    """One compiled version of a function.

    Args:
        original_code: the function's code.
        module: the function's globals, which have what the compiled code calls.
        cache: torch's cache entry.
    """

    def __init__(self, original_code: CodeType, module: Mapping[str, Any] | None, cache: Any):
        self.original_code = original_code
        self.transformed_code: CodeType = cache.code
        manager = getattr(cache, "guard_manager", None) or getattr(cache, "check_fn", None)
        compile_id = getattr(cache, "compile_id", None)
        key = CompileKey(None if compile_id is None else str(compile_id))
        name = transformed_name(key, original_code.co_name)
        raw = hooks.RawEntry(key.id, self.transformed_code, manager)
        origin = replace(origins.origin_of_entry(original_code, raw), tag=key.slug)
        rewriting = rewrite(self.transformed_code, origin)
        self.entry = entry_of(key, original_code, raw)
        self.frame = _frame(key, original_code, rewriting, self.transformed_code, name)
        self.guard = [guard.text for guard in self.entry.guards]
        self.freevars: dict[str, Any] = dict(getattr(manager, "closure_vars", None) or {})
        self.transformed_code_proxy = _named(rewriting.source or "", name[: -len(".py")])
        scope = {} if module is None else module
        names = [name for name in self.transformed_code.co_names if name in scope]
        graphs = [name for name in names if name.startswith("__compiled")][:1]
        self.compiled_subgraph = None
        self.compiled_subgraph_proxy = None
        for name in graphs:
            graph = self.compiled_subgraph = graph_hooks.uncompiled(scope[name])
            self.compiled_subgraph_proxy = CodeProxy.decompile_with_name(graph, name, True)
        self.referenced_global_functions = {
            name: DynamoOptimizationResult(scope[name].__code__, name, module)
            for name in names
            if name.startswith("__resume") and not _has(_being_read(), scope[name].__code__)
        }

    def to_data(self) -> dict[str, Any]:
        """Return the guards and the names of what is called, as values that JSON has."""
        graph = self.compiled_subgraph_proxy
        functions = self.referenced_global_functions.items()
        return {
            "guard": self.guard,
            "transformed_code": str(self.transformed_code_proxy),
            "compiled_subgraph": '"No compiled subgraph."' if graph is None else str(graph),
            "referenced_global_functions": {name: found.to_data() for name, found in functions},
        }


def _frame(
    key: CompileKey, original: CodeType, rewriting: Rewriting, code: CodeType, name: str
) -> Frame:
    runs = os.path.basename(code.co_filename)
    swapped = runs.startswith("__transformed_code_")
    source, verdict, file = rewriting.source, rewriting.verdict, runs if swapped else name
    return Frame(key, 0, place_of(original), source, verdict, file, swapped)


def _has(codes: Sequence[CodeType], code: CodeType) -> bool:
    return any(code is other for other in codes)


def _being_read() -> tuple[CodeType, ...]:
    """The code whose results are being made: a loop resumes in a function that it has been in."""
    codes: tuple[CodeType, ...] = getattr(_reading, "codes", ())
    return codes


class DynamoOptimizationResult:
    """All compiled versions of a function, and of the functions that it resumes in.

    Args:
        original_code: the function's code.
        function_name: what the function is called by others; by default its own name.
        module: the function's globals.
    """

    def __init__(
        self,
        original_code: CodeType,
        function_name: str | None = None,
        module: Mapping[str, Any] | None = None,
    ) -> None:
        self.original_code = original_code
        self.function_name = original_code.co_name if function_name is None else function_name
        self.module = module
        outer = _being_read()
        _reading.codes = (*outer, original_code)
        try:
            self.transformed_code_entries = [
                CacheResult(original_code, module, entry) for entry in _entries(original_code)
            ]
        finally:
            _reading.codes = outer
        self.source_code_proxy = CodeProxy.decompile_with_name(original_code, self.function_name)

    def to_data(self) -> dict[str, Any]:
        """Return the names of the sources and the guards, as values that JSON has."""
        return {
            "function_name": self.function_name,
            "source_code": str(self.source_code_proxy),
            "transformed_code_entries": [e.to_data() for e in self.transformed_code_entries],
        }

    def to_src(self) -> str:
        """Return what torch runs in place of the function, as ``full_code_for_*.py`` shows it."""
        return "\n\n".join(self._parts([]))

    def _parts(self, shown: list[CodeType]) -> list[str]:
        """The sources of this function and of those that it resumes in, each once."""
        versions, code = self.transformed_code_entries, self.original_code
        parts = []
        if not _has(shown, code):
            frames = {version.frame.key: version.frame for version in versions}
            entries = [version.entry for version in versions]
            text = full_code_text(place_of(code), code, entries, frames)
            parts.append(text.replace(_FUTURE, "", 1) if shown else text)
            shown.append(code)
            for version in versions:
                for result in version.referenced_global_functions.values():
                    parts += result._parts(shown)
        own_name = definable(code.co_name)
        if self.function_name != own_name and self.function_name.isidentifier():
            parts.append(f"{self.function_name} = {own_name}\n")
        return parts


def _entries(code: CodeType) -> list[hooks.RawEntry]:
    """The cache entries; before torch 2.6 they have no compile id, so they get their number."""
    return [
        replace(entry, compile_id=entry.compile_id or f"x/{number}")
        for number, entry in enumerate(hooks.cache_entries(code))
    ]


def append_guard_code(guard: Any, ans: list[str]) -> None:
    """Append the parts of a leaf guard, as torch words them."""
    ans.extend(part.strip() for part in guard.verbose_code_parts())


def remove_indentation(code: str) -> str:
    """Take the indentation of the first line off every line.

    >>> remove_indentation("  if a:\\n    b\\n")
    'if a:\\n  b\\n'
    """
    lines = code.splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "".join(f"{line[indent:]}\n" for line in lines)


@contextlib.contextmanager
def lock_on_file(path_template: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock, ``PATH.lock``, that one process has at a time."""
    with open(f"{os.fspath(path_template)}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_code_to_file_template(src: str, path_template: str) -> str:
    """Write a source to the first numbered file that is free or has the same content.

    Args:
        src: the source.
        path_template: a path with one ``%s``, for the number.

    Returns:
        The path of the file.
    """
    paths = (path_template % number for number in itertools.count())
    return next(path for path in paths if write_new(path, src))


def get_current_compiled_fn_name() -> str:
    """Return the name of the graph that is being compiled, such as ``__compiled_fn_0_1``.

    Its files in a capture start with this name.  Raises RuntimeError outside a compile.
    """
    compile_id = hooks.current_compile_id()
    if compile_id is None:
        raise RuntimeError("get_current_compiled_fn_name: torch.compile is not compiling now")
    return f"__compiled_fn_{slug(compile_id)}"
