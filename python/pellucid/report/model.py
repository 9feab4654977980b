# SPDX-License-Identifier: Apache-2.0
"""A capture as the page and ``findings.json`` show it: one model, from which both are made.

The model knows what the dump says and nothing else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from pellucid.dump.model.capture import Capture, first_graphs, place_of_versions
from pellucid.dump.model.events import (
    Artifact,
    AutogradCompile,
    CacheUse,
    Frame,
    Graph,
    GraphRun,
    KernelFile,
    Log,
    Metrics,
    MinCut,
    Problem,
    Recompile,
    SideEffect,
    Skipped,
    Wrappers,
)
from pellucid.dump.model.names import label
from pellucid.findings import find
from pellucid.findings.counts import Counts, counts_of
from pellucid.findings.lines import UserFile, nodes_of, user_files

from . import findings as found
from .files import FULL, GUARDS, Files
from .guards import Row, rows_of
from .layout import Box, arcs, blocks
from .linking import Linker
from .links import Links
from .pool import Pool
from .timeline import flame_of

PICTURED = ("captured", "joint", "forward", "backward", "inference")


@dataclass
class Version:
    """One compiled version of a function."""

    key: str
    file: int
    verdict: str
    reason: str
    swapped: bool
    parent: str
    graphs: List[int] = field(default_factory=list)
    recompiled: List[str] = field(default_factory=list)
    operations: int = 0
    before: bool = False


@dataclass
class Function:
    """One function of the user's that torch compiled, with its versions as torch tries them."""

    number: int
    name: str
    path: str
    line: int
    full: int
    guards: int
    rows: List[Row]
    columns: List[str]
    versions: List[Version]


@dataclass
class View:
    """One capture, or several that are alike."""

    label: str
    names: List[str]
    directory: str
    files: Files
    users: List[UserFile]
    functions: List[Function]
    nodes: Dict[str, Tuple[Any, ...]]
    links: Links
    findings: List[Dict[str, Any]]
    counts: Counts
    bars: List[List[Any]]
    capture: Capture
    dropped: set[int] = field(default_factory=set)
    """The numbers of files whose content was left out."""
    redacted: bool = False


@dataclass
class Page:
    """All that one page shows."""

    pool: Pool
    views: List[View]
    title: str
    dropped: List[str] = field(default_factory=list)


def view_of(capture: Capture, pool: Pool, name: str = "") -> View:
    """Return one capture as the page shows it."""
    users, findings = user_files(capture), find(capture)
    files = Files(capture, users, pool)
    nodes = {
        graph.file: nodes_of(capture, graph.file)
        for graph in capture.of(Graph)
        if not graph.is_program and graph.file in files.number
    }
    functions = _functions(capture, files, nodes)
    linker = Linker(capture, files, users, nodes)
    links = linker.all([(f.guards, f.full, f.rows) for f in functions])
    graphs: Dict[str, List[Graph]] = {}
    for graph in first_graphs(capture.of(Graph)):
        graphs.setdefault(str(graph.key), []).append(graph)
    for function in functions:
        concerned = [g for v in function.versions for g in graphs.get(v.key, ())]
        linker.inputs(function.guards, function.rows, concerned)
    return View(
        name,
        [name],
        capture.directory.name,
        files,
        users,
        functions,
        nodes,
        links,
        found.shown(findings),
        counts_of([capture], findings),
        flame_of(capture),
        capture,
    )


def _functions(capture: Capture, files: Files, nodes: Dict[str, Tuple[Any, ...]]) -> List[Function]:
    by_function: Dict[int, List[Frame]] = {}
    for frame in capture.of(Frame):
        by_function.setdefault(frame.function, []).append(frame)
    recompiles: Dict[str, List[Tuple[int, Recompile]]] = {}
    for event in enumerate(capture.of(Recompile)):
        recompiles.setdefault(_frame_of(event[1]), []).append(event)
    full_code: Dict[str, int] = {}
    for i, file in enumerate(files.files):
        if file.kind == FULL:
            full_code.setdefault(file.name[: -len(".py")].rpartition("_")[2], i)
    functions = []
    for number, frames in by_function.items():
        entries = capture.caches.get(number, ())
        order = {str(entry.key): i for i, entry in enumerate(entries)}
        frames = sorted(frames, key=lambda frame: order.get(str(frame.key), len(order)))
        of_frames = [recompiles.get(frame, ()) for frame in {*map(_frame_of, frames)}]
        concerned = sorted(chain.from_iterable(of_frames), key=itemgetter(0))
        rows = rows_of(entries, [event for _, event in concerned])
        first = frames[0]
        guards = files.add_rows(f"guards of {number}", GUARDS, -1, len(rows))
        functions.append(
            Function(
                number,
                label(place_of_versions(frames).function),
                first.place.file,
                first.place.line,
                full_code.get(str(number), -1),
                guards,
                rows,
                [str(entry.key) for entry in entries],
                [_version(capture, files, nodes, frame) for frame in frames],
            )
        )
    return functions


def _frame_of(event: Frame | Recompile) -> str:
    return str(event.key).partition("/")[0]


def _version(
    capture: Capture, files: Files, nodes: Dict[str, Tuple[Any, ...]], frame: Frame
) -> Version:
    key = str(frame.key)
    graphs = [
        files.number[graph.file]
        for graph in capture.of(Graph, frame.key)
        if graph.file in files.number
    ]
    around = [event.file for event in capture.of(Wrappers, frame.key)]
    graphs += [files.number[file] for file in around if file in files.number]
    made = [
        node
        for graph in first_graphs(capture.of(Graph, frame.key))
        for node in nodes.get(graph.file, ())
        if node.op.startswith("call_") and node.target not in node.args
    ]
    return Version(
        key,
        files.number.get(frame.file, -1),
        frame.verdict.status,
        frame.verdict.reason,
        frame.swapped,
        getattr(frame, "parent", ""),
        list(dict.fromkeys(graphs)),
        [text for event in capture.of(Recompile, frame.key) for text in event.reasons],
        len(made),
        frame.before,
    )


def pictures_of(view: View) -> Dict[int, Dict[str, Any]]:
    """Return the rows of each main graph, its arcs and its boxes, by the number of its file."""
    made = {}
    for file, nodes in view.nodes.items():
        number = view.files.number[file]
        stage = view.files.files[number].stage
        if not nodes or not (stage in PICTURED or stage.startswith("after_post_grad")):
            continue
        nodes = tuple(
            n for n in nodes if n.op not in ("placeholder", "output") and n.target not in n.args
        )
        at = {node.name: i for i, node in enumerate(nodes)}
        args = [
            [at[arg] for arg in node.args if arg in at and at[arg] < i]
            for i, node in enumerate(nodes)
        ]
        modules: Dict[Any, int] = {}
        picture = blocks(nodes, args)
        made[number] = {
            "lines": [node.line - 1 for node in nodes],
            "args": args,
            "module": [modules.setdefault(node.module, len(modules)) for node in nodes],
            "modules": [[list(part) for part in path] for path in modules],
            "ops": [_short(node.op) for node in nodes],
            "arcs": arcs(args),
            "picture": {
                "width": round(picture.width),
                "height": round(picture.height),
                "edges": picture.edges,
                "boxes": [_box(b) for b in picture.boxes],
            },
        }
    return made


def _box(box: Box) -> List[Any]:
    size = [round(box.x), round(box.y), round(box.width)]
    return [*size, box.label, box.about, box.count, [box.nodes, *box.alike]]


def _short(op: str) -> str:
    return {"placeholder": "i", "output": "o", "get_attr": "a"}.get(op, "c")


def rest_of(view: View) -> Dict[str, Any]:
    """Return what the lower part of the page lists."""
    capture = view.capture
    return {
        "versions": dict(capture.versions),
        "configuration": dict(capture.configuration),
        "tables": tables_of(capture),
        "problems": [
            *([f"made from {g.name}", w, ""] for g in capture.of(Log) for w in g.notes),
            *(
                [f"made from {g.name}", f"a log lacks {w}", ""]
                for g in capture.of(Log)
                for w in g.lacks
            ),
            *(row for saved in capture.of(Artifact) for row in _rows_of(saved)),
            *([p.where, p.what, p.detail] for p in capture.of(Problem)),
        ],
        "skipped": [
            [str(s.key), str(s.place) if s.place else "", s.brief] for s in capture.of(Skipped)
        ],
        "runs": [[r.file, r.runs, r.reason] for r in capture.of(GraphRun)],
        "metrics": [[str(m.key), m.values] for m in capture.of(Metrics)],
        "files": list(capture.files),
        "others": list(capture.others),
        "schema": capture.schema,
    }


def _rows_of(saved: Artifact) -> Iterator[List[str]]:
    """Yield what a capture that was read from saved code lacks."""
    where = f"read from {saved.name}"
    yield from ([where, f"it lacks {what}", ""] for what in saved.lacks)
    yield from ([where, f"not shown: {what}", ""] for what in saved.notes)
    yield from ([where, f"a guard that torch dropped: {what}", ""] for what in saved.dropped)


def tables_of(capture: Capture) -> List[List[Any]]:
    """Return what is shown as a plain table: its name, its columns, its rows."""
    uses = [[str(c.key), c.cache, c.result, c.reason] for c in capture.of(CacheUse)]
    effects = [
        [str(e.key), e.source, e.type, str(e.place or "")]
        for e in dict.fromkeys(capture.of(SideEffect))
    ]
    autograd = [[str(a.key), why] for a in capture.of(AutogradCompile) for why in a.reasons]
    budgets = [
        [str(m.key), m.budget, len(m.saved), *m.gigabytes[:1], ", ".join(m.recomputed)]
        for m in dict.fromkeys(capture.of(MinCut))
    ]
    return [
        ["Caches", ["compile", "cache", "result", "why"], uses],
        ["Side effects", ["compile", "object that it changes", "type", "line"], effects],
        ["Compiled autograd", ["compile", "why it was compiled"], autograd],
        ["Memory budget", ["compile", "budget", "nodes saved", "GB", "recomputed"], budgets],
    ]


def kernels_of(view: View) -> List[Dict[str, Any]]:
    """Return the kernels of the programs, each with the lines that define and call it."""
    made = []
    seen = set()
    for kernel in view.capture.of(KernelFile):
        named = (kernel.program, kernel.name)
        program = view.files.number.get(kernel.program)
        if program is None or named in seen:
            continue
        seen.add(named)
        lines = view.files.lines(program)
        start = f"{kernel.name} = "
        made.append(
            {
                "name": kernel.name,
                "program": program,
                "file": view.files.number.get(kernel.file, -1),
                "kind": getattr(kernel, "kind", "") or os.path.splitext(kernel.file)[1][1:],
                "line": next((i for i, line in enumerate(lines) if line.startswith(start)), -1),
                "calls": [
                    i
                    for i, line in enumerate(lines)
                    if line.lstrip().startswith((f"{kernel.name}(", f"{kernel.name}.run("))
                ],
            }
        )
    return made


def title_of(views: Sequence[View]) -> str:
    """Return the name of the page: the user's files that were compiled."""
    names: Dict[str, None] = {}
    for view in views:
        for function in view.functions:
            names[os.path.basename(function.path)] = None
        for skipped in view.capture.of(Skipped) if not view.functions else ():
            if skipped.place is not None:
                names[os.path.basename(skipped.place.file)] = None
    own = list(names)
    more = f" and {len(own) - 2} more" if len(own) > 2 else ""
    return ", ".join(own[:2]) + more if own else (views[0].directory if views else "")
