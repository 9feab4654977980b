# SPDX-License-Identifier: Apache-2.0
"""``pellucid demo``: capture the training of a small model, and say what was found.

Two steps: the first compiles the model, the second has another sequence length and makes torch
compile it again.  The model asks its data which way to go, so there is a graph break as well.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, Collection

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from pellucid.report import report_at_end

from ..model.events import Break, Frame, Graph, Place, Problem, Recompile, Started
from ..model.names import label
from ..store.session import INDEX, Session
from ..text.dump import counted
from .prepare import prepare_debug

_STEPS = ((2, 8), (2, 12))
"""Batch size and sequence length of each step."""
_HANDED_OVER = ("captured", "joint", "forward", "backward", "inference")
"""The graphs that Dynamo, AOTAutograd and Inductor hand to one another."""


def main(directory: str) -> int:
    """Run the demo into a directory; returns the exit status."""
    import torch

    from .demo_model import Block

    console = Console()
    backend = "inductor" if shutil.which("g++") or shutil.which("clang++") else "aot_eager"
    console.print(
        f"[bold]pellucid demo[/]: a transformer block, {len(_STEPS)} training steps, "
        f"backend {backend}, torch {torch.__version__}"
    )
    torch.manual_seed(0)
    model = Block()
    with _progress(console) as progress:
        task = progress.add_task("starting", total=None)

        def show(event: Any) -> None:
            line = _line(event)
            if line:
                progress.update(task, description=line)
                progress.console.print(f"  {line}", highlight=False, markup=False)

        with prepare_debug(directory, on_event=show) as session:
            _train(torch.compile(model, backend=backend), model)
        progress.update(task, description="done")
    _summarise(console, session)
    # What this torch has not got is no failure of the demo's.
    failed = [problem for problem in session.of(Problem) if problem.where != "this torch"]
    return 0 if session.of(Frame) and not failed else 1


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
    )


def _line(event: Any) -> str:
    """One line of progress for the events that a person waits for."""
    if isinstance(event, Started):
        place = event.place
        function = label(place.function) if place else "a frame"
        return f"[{event.key}] compiling {function} ({_short(place)})"
    if isinstance(event, Break):
        return f"[{event.key}] graph break: {event.title.partition(' — ')[0]}"
    if isinstance(event, Recompile):
        reason = " ".join(event.reasons[0].split()) if event.reasons else ""
        return f"[{event.key}] compiling again: {reason}"
    if isinstance(event, Graph):
        return f"[{event.key}] {event.stage.replace('_', ' ')} graph: {event.file}"
    if isinstance(event, Frame):
        run = "runs from its file" if event.swapped else "Dynamo's code runs"
        return f"[{event.key}] {label(event.place.function)}: {event.verdict.status}, {run}"
    if isinstance(event, Problem):
        return f"problem: {event.where}: {event.what}"
    return ""


def _short(place: Place | None) -> str:
    return "?" if place is None else f"{os.path.basename(place.file)}:{place.line}"


def _stages(stages: Collection[str]) -> str:
    """Name what hands over from one part of the compiler to the next; count what lies between."""
    named = [s for s in stages if s in _HANDED_OVER or s.startswith("inductor")]
    between = len(stages) - len(named)
    more = [f"{between} between these"] if between else []
    return ", ".join([stage.replace("_", " ") for stage in named] + more)


def _summarise(console: Console, session: Session) -> None:
    frames, graphs = session.of(Frame), {graph.file: graph for graph in session.of(Graph)}
    table = Table(title="What torch.compile made", title_justify="left", title_style="bold")
    for title in ("compile", "function", "verdict", "runs", "graphs"):
        table.add_column(title)
    for frame in frames:
        stages = dict.fromkeys(g.stage for g in graphs.values() if g.key == frame.key)
        table.add_row(
            str(frame.key),
            f"{escape(label(frame.place.function))}\n[dim]{_short(frame.place)}[/]",
            f"[{'green' if frame.verdict.proven else 'yellow'}]{frame.verdict.status}[/]",
            "its file" if frame.swapped else "Dynamo's code",
            _stages(stages),
        )
    console.print(table)
    runs = len(session.running_graphs())
    backward = sum(graph.stage == "backward" for graph in graphs.values())
    console.print(
        f"{counted(len(frames), 'frame')}, {sum(f.verdict.proven for f in frames)} proven, "
        f"{sum(f.swapped for f in frames)} run from their files; "
        f"{counted(len(graphs), 'graph file')} ({backward} backward, {runs} run from their files); "
        f"{counted(len(session.of(Break)), 'graph break')}; "
        f"{counted(len(session.of(Recompile)), 'recompile')}",
        highlight=False,
    )
    for frame in frames:
        if not frame.verdict.proven:
            console.print(f"[{frame.key}] {frame.verdict.reason}", markup=False, highlight=False)
    for problem in session.of(Problem):
        console.print(f"{problem.where}: {problem.what}", markup=False, style="red")
    console.print("\nStart reading here:")
    console.print(str(session.path(INDEX)), soft_wrap=True, highlight=False, style="bold")
    page = report_at_end(session.path(INDEX).parent)
    if page is not None:
        console.print("\nThe same as one page for your browser:")
        console.print(str(page), soft_wrap=True, highlight=False, style="bold")
