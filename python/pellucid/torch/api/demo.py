# SPDX-License-Identifier: Apache-2.0
"""``pellucid demo``: capture the training of a small model and print the findings.

There are two steps: the first compiles the model, the second has a different sequence length and
causes a recompile.  The model branches on its data, so there is also a graph break.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pellucid.dump.model.events import Break, Frame, Place, Problem, Recompile, Started
from pellucid.dump.model.names import label
from pellucid.dump.store.directories import numbered
from pellucid.dump.store.load import load_all
from pellucid.dump.store.session import INDEX
from pellucid.errors import complain
from pellucid.report import report_at_end
from pellucid.report.ending import tell_lines
from pellucid.terminal import is_quiet

from .prepare import prepare_debug

MODEL = "demo_model.py"
_TERMS = "A graph break splits a function into several graphs. A recompile adds a version of it."
_STEPS = ((2, 8), (2, 12))
"""Batch size and sequence length of each step."""


def main(name: str) -> int:
    """Run the demo in a directory, numbered if the name is taken; return the exit code.

    The model is written to that directory for the user to read and change.  A directory with a
    changed model is left alone.
    """
    import torch

    console = Console(highlight=False, quiet=is_quiet())
    backend = "inductor" if shutil.which("g++") or shutil.which("clang++") else "aot_eager"
    directory = next(path for path in numbered(name) if _may_write(path))
    file = _with_model(directory)
    console.print(
        f"pellucid demo: {len(_STEPS)} training steps of {os.path.relpath(file)} "
        f"(backend {backend}, torch {torch.__version__})",
        style="bold",
        markup=False,
        soft_wrap=True,
    )
    console.print(_TERMS, soft_wrap=True)
    torch.manual_seed(0)
    with _progress(console) as progress:
        task = progress.add_task("starting", total=None)

        def show(event: Any) -> None:
            line = _line(event)
            if line:
                progress.update(task, description=line)

        with prepare_debug(directory, on_event=show) as session:
            model = _loaded(file).Block()
            _train(torch.compile(model, backend=backend), model)
        captured = session.path(INDEX).parent
        page = report_at_end(captured)
    tell_lines(console, load_all(captured))
    # A missing feature of this torch is not a failure of the demo.
    failed = [problem for problem in session.of(Problem) if problem.where != "this torch"]
    for problem in failed:
        complain(problem.where, problem.what)
    console.print(
        f"Every file and what it shows: {session.path(INDEX)}", markup=False, soft_wrap=True
    )
    if page is not None:
        console.print(f"Open in a browser: {page}", markup=False, soft_wrap=True, style="bold")
    return 0 if session.of(Frame) and page is not None and not failed else 1


def _text() -> bytes:
    return Path(__file__).with_name(MODEL).read_bytes()


def _may_write(directory: Path) -> bool:
    """Return true if the demo may write to a directory: it is empty, or its model is unchanged."""
    if not directory.is_dir():
        return not os.path.lexists(directory)
    model = directory / MODEL
    if model.is_file():
        return model.read_bytes() == _text()
    return not any(directory.iterdir())


def _with_model(directory: Path) -> Path:
    """Write the model to a directory; return its file."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory.resolve() / MODEL
    file.write_bytes(_text())
    return file


def _loaded(file: Path) -> ModuleType:
    """Import the model from the user's directory, as a program there would."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _train(compiled: Any, model: Any) -> None:
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch, length in _STEPS:
        x = torch.randn(batch, length, 32)
        loss = (compiled(x) - x.roll(1, dims=1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal or console.quiet,
    )


def _line(event: Any) -> str:
    """Return what the compiler is doing, for events that the user waits for."""
    if isinstance(event, Started):
        place = event.place
        function = label(place.function) if place else "a frame"
        return f"compiling {function} ({_short(place)})"
    if isinstance(event, Break):
        return f"graph break: {event.title.partition(' — ')[0]}"
    if isinstance(event, Recompile):
        reason = " ".join(event.reasons[0].split()) if event.reasons else ""
        return f"recompiling: {reason}"
    return ""


def _short(place: Place | None) -> str:
    return "?" if place is None else f"{os.path.basename(place.file)}:{place.line}"
