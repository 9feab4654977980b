# SPDX-License-Identifier: Apache-2.0
"""The smallest graph that compiled code still computes differently from eager, as a program.

torch's minifier proposes graphs, and the search that found the difference judges each of them.  The
program is kept only if a fresh process shows the difference.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch
from functorch.compile import minifier  # type: ignore[import-untyped]

from pellucid.dump.model.differences import Smallest
from pellucid.dump.store.session import Session

from ..capture.process import PROCESS
from ..capture.sources import is_users
from ..taps import graph_hooks, hooks, staging
from ..taps.fx_meta import describe
from ..taps.hooks import PROBE
from ..taps.shapes import VALUE_KEYS
from ..text.dump import comparison_text, named_class
from ..text.graph_main import DIFFER, Comparison
from .closeness import RTOL, Tolerance
from .prepare import prepare_debug
from .stages import CAPTURED, Stages, copied

_SECONDS = 90.0
"""How long smaller graphs are tried."""
_NAME = "smallest_graph"
Differs = Callable[[Any, "tuple[Any, ...]"], bool]
"""Whether compiled code computes a graph differently from eager on these inputs."""


class _Calls(Stages):
    """Runs Dynamo's graphs as they are, and keeps what they are called with."""

    def __init__(self, session: Session, *program: Any) -> None:
        super().__init__(session, *program)
        self.called: list[tuple[Any, tuple[Any, ...]]] = []

    def backend(self, graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        """Return a graph that notes its inputs."""
        shown = copied(graph)

        def run(*args: Any) -> Any:
            self.called.append((shown, tuple(map(_kept, args))))
            return graph.forward(*args)

        return hooks.invisible(run)


def _kept(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def smallest_graph(
    directory: Path,
    differs: Differs,
    tolerance: Tolerance,
    program: tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]],
) -> Smallest | None:
    """Write a program with the smallest graph that differs; None if none differs by itself."""
    until = time.monotonic() + _SECONDS

    def judged(small: Any, given: Sequence[Any]) -> bool:
        return time.monotonic() < until and differs(small, tuple(map(_kept, given)))

    for graph, inputs in _called(program):
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                small, given = minifier(graph, list(inputs), judged, dump_state=_nothing)
            options = staging.options_of(program[0])
            file = _program(small, tuple(map(_kept, given)), directory, tolerance, options)
        except Exception:  # the minifier's if the graph does not differ by itself; torch's own
            continue
        if file is not None:
            return Smallest(str(file), _operations(small), _operations(graph))
    return None


@contextlib.contextmanager
def temporary_capture() -> Iterator[Session]:
    """Capture into a directory that is deleted."""
    with tempfile.TemporaryDirectory() as folder, prepare_debug(Path(folder) / "dump") as session:
        session.warns_when_empty = False
        yield session


def _called(program: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the graphs that a program calls, each with its inputs."""
    with temporary_capture() as session:
        calls = _Calls(session, *program)
        with calls.compiling(programs=False):
            calls.run(CAPTURED)
    torch.compiler.reset()
    return calls.called


def _nothing(graph: Any, inputs: Any) -> None:
    """Replace the file that the minifier writes for each smaller graph."""


def _operations(graph: Any) -> int:
    return sum(node.op.startswith("call_") for node in graph.graph.nodes)


def _program(
    graph: Any,
    inputs: tuple[Any, ...],
    directory: Path,
    tolerance: Tolerance,
    options: Mapping[str, Any],
) -> Path | None:
    """Write a program, with random inputs if they suffice; None if it does not show it."""
    places = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for node, value in zip(places, inputs):
        for key in VALUE_KEYS:
            node.meta.pop(key, None)
        node.meta[VALUE_KEYS[0]] = value
    text = named_class(graph_hooks.readable(graph))
    operators = tuple((name, m or _module(name)) for name, m in PROCESS.operators(text))
    needs = replace(describe(graph), operators=operators)
    folders = tuple(sorted({folder for _, module in operators for folder in _folder(module)}))
    settings = repr(dict(options)) if options else ""
    head = (
        "The smallest graph found that torch.compile computes differently from eager.\n"
        "The exit code is 1 as long as the results differ."
    )
    directory.mkdir(parents=True, exist_ok=True)
    file, stored = directory / f"{_NAME}.py", directory / f"{_NAME}.pt"
    limits = _limits(tolerance, graph, inputs)
    for name in ("", stored.name):
        if name:
            torch.save([_kept(value) for value in inputs], stored)
        comparison = Comparison(*limits, settings, name, folders)
        file.write_text(comparison_text(head, text, needs, comparison), encoding="utf-8")
        if _shows(file):
            return file
    file.unlink()
    stored.unlink()
    return None


def _module(operator: str) -> str:
    """Return the program's module that describes an operator to the compiler; empty if unknown."""
    known = PROBE.get("operator_registry")
    kernel = known and known.find(operator.replace(".", "::")).fake_impl.kernel
    file = kernel.source.rpartition(":")[0] if kernel else ""
    modules = (name for name, m in sys.modules.items() if getattr(m, "__file__", None) == file)
    return next((name for name in modules if file and name != "__main__"), "")


def _folder(module: str) -> Iterator[str]:
    """Yield the folder from which a module is imported, if it is not installed."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file and is_users(file):
        path = Path(file).parent if Path(file).stem == "__init__" else Path(file)
        yield str(path.resolve().parents[module.count(".")])


def _limits(tolerance: Tolerance, graph: Any, inputs: tuple[Any, ...]) -> tuple[float, float]:
    """Return the tolerance for all results of a graph: that of the least precise type."""
    with torch.no_grad():
        results = graph(*map(_kept, inputs))
    results = results if isinstance(results, (list, tuple)) else [results]
    known = [v for v in (*results, *inputs) if isinstance(v, torch.Tensor) and v.dtype in RTOL]
    rtol = tolerance.rtol
    if rtol is None:
        rtol = max((RTOL[value.dtype] for value in known), default=0.0)
    return rtol, rtol if tolerance.atol is None else tolerance.atol


def _shows(file: Path) -> bool:
    command = [sys.executable, str(file)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PELLUCID_")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=environment
    )
    # Warnings of torch may come first.
    return done.returncode == 1 and f"\n{DIFFER}: " in f"\n{done.stderr}"
