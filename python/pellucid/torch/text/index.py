# SPDX-License-Identifier: Apache-2.0
"""``index.md``: an overview of a capture, in reading order."""

from __future__ import annotations

import os
from collections import Counter
from typing import Container, Iterable, Mapping, Sequence

from pellucid.brief import counted
from pellucid.dump.model.capture import Capture, count_graphs, place_of_versions, refused
from pellucid.dump.model.events import (
    Artifact,
    AutogradCompile,
    BackwardFailure,
    Break,
    CacheUse,
    CompileKey,
    Frame,
    Graph,
    KernelFile,
    Log,
    MinCut,
    NonFinite,
    Operator,
    Parting,
    Problem,
    RankMismatch,
    Recompile,
    Saved,
    SideEffect,
    Skipped,
    Wrappers,
)
from pellucid.dump.model.names import label, scrub
from pellucid.dump.store.session import INDEX, Session, left_alone
from pellucid.findings import Finding, count_line
from pellucid.findings.counts import counts_of
from pellucid.findings.text import one_line

from .dump import STAGES, WRAPPERS, frame_status, only_graphs, recompile_lines
from .saved import saved_text

EMPTY = (
    "Nothing was compiled inside this capture. Either no function under `torch.compile` was called "
    "here, or torch had already compiled or skipped every function that was called (to start over, "
    "call `torch._dynamo.reset()` before the capture), or compiling is switched off "
    "(`TORCHDYNAMO_DISABLE`, `torch.compiler.set_stance`)."
)


def index_text(
    session: Session,
    full: Mapping[str, Sequence[Frame]],
    findings: Sequence[Finding] = (),
    known: Capture | None = None,
) -> str:
    """Return the index; ``full`` maps each full-code file to its versions.

    ``known`` is the session's snapshot, if there is one.
    """
    frames = session.of(Frame)
    parts: list[str] = ["# What torch.compile produced\n", _log(session), _findings(findings)]
    if not frames:
        parts.append(_nothing(session) + "\n")
    else:
        parts.append(_summary(session, known or session.snapshot(), findings) + "\n")
        parts.append(_HOW_TO_READ)
        parts.append(_functions(session, full))
    parts.append(_frameless(session))
    parts += [_breaks(session), _recompiles(session), _autograd(session), _effects(session)]
    parts += [_non_finite(session), _differences(session), _mismatches(session)]
    parts += [_failed(session), _skipped(session), saved_text(session.of(Saved))]
    parts += [_budget(session), _operators(session)]
    parts += [_caches(session), _others(session)]
    parts += [_setting(session), _problems(session)]
    return "\n".join(part for part in parts if part).rstrip("\n") + "\n"


def _findings(findings: Sequence[Finding]) -> str:
    """Return the findings, one line each; `pellucid explain` has the details."""
    if not findings:
        return ""
    lines = [f"{count_line(findings).capitalize()}.\n"]
    lines += [f"{n}. **{f.kind}** {scrub(one_line(f))}" for n, f in enumerate(findings[:_TOLD], 1)]
    if len(findings) > _TOLD:
        lines.append(f"\nand {len(findings) - _TOLD} more: `pellucid explain` lists all")
    return "\n".join(["## Findings\n", *lines, ""])


_TOLD = 12


def _log(session: Session) -> str:
    """Return the origin of a capture that was made from a file, and what the file lacks."""
    lines: list[str] = []
    for log in session.of(Log):
        lines.append(f"Created from {log.lines} lines of `{log.name}`. The log does not contain:\n")
        lines += [f"- {what}" for what in log.lacks]
        if log.notes:
            lines += ["\nThe log itself:\n", *(f"- {note}" for note in log.notes)]
    alike: dict[tuple[str, tuple[str, ...]], list[Artifact]] = {}
    for saved in session.of(Artifact):
        alike.setdefault((saved.kind, saved.lacks), []).append(saved)
    for (kind, lacks), files in alike.items():
        names = ", ".join(f"`{file.name}`" for file in files[:_TOLD])
        names += f" and {len(files) - _TOLD} more" if len(files) > _TOLD else ""
        which = "It does" if len(files) == 1 else "They do"
        told = f"Read from {names}, {kind}. {which} not contain:"
        lines += ["\n" + told if lines else told, "", *(f"- {what}" for what in lacks)]
        notes = [f"- {scrub(note)}" for file in files for note in file.notes]
        lines += ["\nNot shown:\n", *notes] if notes else []
        dropped = [f"- {each}" for file in files for each in file.dropped]
        lines += ["\nGuards that torch dropped:\n", *dropped] if dropped else []
    return "\n".join([*lines, ""]) if lines else ""


def _nothing(session: Session) -> str:
    left = len(left_alone(session))
    graphs = count_graphs(session.of(Graph))
    if graphs:
        return f"{only_graphs(graphs, 'this capture')}. The files are listed below."
    if not left:
        return EMPTY
    frames = "1 frame" if left == 1 else f"{left} frames"
    return (
        f"Nothing was compiled inside this capture: torch skipped {frames}, for the reason below."
    )


_HOW_TO_READ = """\
Start with the **full code** of a function: its guards choose the compiled version. From there,
go to the **transformed code** of a version, and from there to the **graph** that it calls. You can
set breakpoints in files that run.
"""


def _summary(session: Session, known: Capture, findings: Sequence[Finding]) -> str:
    frames = session.of(Frame)
    raised = refused(session)
    swapped = sum(frame.swapped and frame.key not in raised for frame in frames)
    proven = sum(frame.verdict.proven for frame in frames)
    running = len(session.running_graphs())
    graphs = len({graph.file for graph in session.of(Graph)})
    compiled = counts_of([known], findings).compiled
    return (
        f"{compiled[:1].upper()}{compiled[1:]}. "
        f"{counted(len(frames), 'frame')}: {proven} proven, "
        f"{swapped} run from their files. "
        f"{counted(graphs, 'graph file')}: {running} run from their files."
    )


def _functions(session: Session, full: Mapping[str, Sequence[Frame]]) -> str:
    graphs: dict[CompileKey, dict[str, Graph]] = {}
    for graph in session.of(Graph):
        graphs.setdefault(graph.key, {})[graph.file] = graph
    runs = {graph.file for graph in session.running_graphs()}
    cached = {use.key for use in session.of(CacheUse) if use.result == "hit"}
    lines: list[str] = []
    kernels, wrappers = _kernels(session), session.of(Wrappers)
    raised = refused(session)
    names = Counter(label(place_of_versions(versions).function) for versions in full.values())
    for file, versions in full.items():
        place = place_of_versions(versions)
        name = label(place.function)
        # Every module has a `forward`, so add the frame's number, which its files have too.
        which = f", frame {versions[0].key.frame}" if names[name] > 1 else ""
        lines += [
            f"## {_code(name)}{_inside(versions[0], name)}{which}\n",
            f"`{os.path.basename(place.file)}:{place.line}` · full code: {_link(file)}\n",
            "| compile | transformed code | verdict |",
            "| --- | --- | --- |",
        ]
        for frame in versions:
            status = frame_status(frame)
            if frame.key in raised:
                status = f"{frame.verdict.status}, never runs: torch raised {raised[frame.key]}"
            lines.append(f"| {frame.key} | {_link(frame.file)} | {_cell(status)} |")
        lines.append("")
        for frame in versions:
            for graph in graphs.get(frame.key, {}).values():
                lines += _graph(graph, runs, kernels)
            lines += [_wrappers(event) for event in wrappers if event.key == frame.key]
            if frame.way in ("loaded", "package"):
                lines.append(f"- [{frame.key}] {_LOADED}")
            elif frame.key in cached:
                lines.append(f"- [{frame.key}] {_FROM_CACHE}")
        lines.append("")
    return "\n".join(lines)


def _inside(frame: Frame, name: str) -> str:
    return f", inside {_code(frame.wrapper)}" if frame.wrapper not in ("", name) else ""


def _wrappers(event: Wrappers) -> str:
    return f"- [{event.key}] {_link(event.file)}: {WRAPPERS}"


def _kernels(session: Session) -> dict[str, dict[KernelFile, None]]:
    """Return the kernels of each program, by the program's file."""
    found: dict[str, dict[KernelFile, None]] = {}
    for kernel in session.of(KernelFile):
        found.setdefault(kernel.program, {})[kernel] = None
    return found


def _graph(
    graph: Graph, runs: Container[str], kernels: Mapping[str, Iterable[KernelFile]]
) -> list[str]:
    note = " · runs from this file" if graph.file in runs else ""
    what = STAGES.get(graph.stage, graph.stage)
    what += f" ({graph.told})" if graph.metadata else ""
    lines = [f"- [{graph.key}] {_link(graph.file)}: {what}{note}"]
    return lines + [f"  - kernel {_link(k.file)}" for k in kernels.get(graph.file, ())]


def _frameless(session: Session) -> str:
    """Return the graphs without a function: from direct calls of AOTAutograd or Inductor."""
    framed = {frame.key for frame in session.of(Frame)}
    graphs = {graph.file: graph for graph in session.of(Graph) if graph.key not in framed}
    runs = {graph.file for graph in session.running_graphs()}
    kernels = _kernels(session)
    lines = [line for graph in graphs.values() for line in _graph(graph, runs, kernels)]
    lines += [_wrappers(event) for event in session.of(Wrappers) if event.key not in framed]
    return "\n".join(["## Graphs without a function\n", *lines, ""]) if lines else ""


_LOADED = (
    "other stages, graph breaks and the reasons for recompiles are not listed: PyTorch loaded this "
    "and did not repeat them. A capture of the process that compiled it has them"
)
_FROM_CACHE = "other stages are not listed: torch had the compile in its cache and did not run them"


def _breaks(session: Session) -> str:
    events = session.of(Break)
    if not events:
        return ""
    # A recompiled function breaks at the same place again; only the path to it differs.
    alike: dict[str, list[Break]] = {}
    for event in events:
        alike.setdefault(event.explanation.partition(_WAY_THERE)[0], []).append(event)
    lines = ["## Graph breaks\n"]
    for first, *rest in alike.values():
        keys = ", ".join(dict.fromkeys(f"[{event.key}]" for event in (first, *rest)))
        lines += [f"**{keys}** {first.title}\n", "```text", scrub(first.explanation), "```", ""]
    return "\n".join(lines)


_WAY_THERE = "User code traceback:"


def _recompiles(session: Session) -> str:
    lines = [f"- {line}" for line in recompile_lines(session.of(Recompile))]
    return "\n".join(["## Recompiles\n", *lines, ""]) if lines else ""


def _autograd(session: Session) -> str:
    """Return why compiled autograd compiled each backward pass."""
    reasons = {
        f"- [{event.key}] {scrub(' '.join(reason.split()))}": None
        for event in session.of(AutogradCompile)
        for reason in event.reasons
    }
    if not reasons:
        return ""
    return "\n".join(["## Why compiled autograd compiled a backward pass\n", *reasons, ""])


def _effects(session: Session) -> str:
    """Return what compiled code mutates outside its graphs, by object and line."""
    keys: dict[str, dict[str, None]] = {}
    for effect in session.of(SideEffect):
        where = "" if effect.place is None else f" at `{effect.place}`"
        source = f"`{scrub(effect.source)}`, of type" if effect.source else "an object of type"
        keys.setdefault(f"{source} `{effect.type}`{where}", {})[str(effect.key)] = None
    lines = [f"- [{', '.join(compiles)}] {found}" for found, compiles in keys.items()]
    note = "Objects that compiled code changes after its graph has run.\n"
    return "\n".join(["## Side effects\n", note, *lines, ""]) if lines else ""


def _mismatches(session: Session) -> str:
    lines = [
        f"[{key}]\n\n```text\n{text}\n```\n"
        for key, text in dict.fromkeys(
            (event.key, event.text) for event in session.of(RankMismatch)
        )
    ]
    return "\n".join(["## Graphs that differ between ranks\n", *lines]) if lines else ""


def _budget(session: Session) -> str:
    """Return what `activation_memory_budget` saves and recomputes."""
    lines = []
    for event in dict.fromkeys(session.of(MinCut)):
        size, least, most = (*event.gigabytes, 0.0, 0.0, 0.0)[:3]
        again = ", ".join(f"`{name}`" for name in event.recomputed[:_TOLD])
        rest = len(event.recomputed) - _TOLD
        again += f" and {rest} more" if rest > 0 else ""
        lines.append(
            f"- [{event.key}] budget {event.budget:g}: {counted(len(event.saved), 'node')} saved, "
            f"{size:g} GB (at least {least:g}, at most {most:g}); recomputed: {again or 'none'}"
        )
    return "\n".join(["## Memory budget of the backward pass\n", *lines, ""]) if lines else ""


def _operators(session: Session) -> str:
    """Return the custom operators in graphs: what each takes, mutates and returns."""
    lines = [f"- `{schema}`" for event in session.of(Operator) for schema in event.schemas]
    return "\n".join(["## Operators that are not PyTorch's own\n", *lines, ""]) if lines else ""


def _non_finite(session: Session) -> str:
    lines = []
    for found in session.of(NonFinite):
        where = "" if found.place is None else f" at `{found.place}`: `{found.code}`"
        at = f", {_link(found.file)} line {found.line}" if found.file else ""
        end = "" if found.reached else "; no result contains it"
        did = "was passed in with" if found.stage == "input" else "produced"
        lines.append(f"- [{found.key}] `{found.operation}` {did} {found.what}{where}{at}{end}")
    return "\n".join(["## NaN and Inf\n", *lines, ""]) if lines else ""


def _differences(session: Session) -> str:
    lines = []
    for found in session.of(Parting):
        where = "" if found.place is None else f" at `{found.place}`: `{found.code}`"
        at = f", {_link(found.file)} line {found.line}" if found.file else ""
        words = "; ".join(filter(None, (found.words, *found.state)))
        lines.append(
            f"- [{found.key}] `{found.operation or 'results'}`, {found.stage} against "
            f"{found.previous}{where}{at}: {words}"
        )
    return "\n".join(["## Differences from eager\n", *lines, ""]) if lines else ""


def _skipped(session: Session) -> str:
    lines = [_left(event) for event in left_alone(session)]
    return "\n".join(["## Skipped frames\n", *lines, ""]) if lines else ""


def _failed(session: Session) -> str:
    lines = []
    for event in session.of(Skipped):
        if event.raised:
            where = "" if event.at is None else f" at `{event.at}`"
            lines.append(f"{_left(event)} ({event.kind}, which the program saw{where})")
    for failure in dict.fromkeys(session.of(BackwardFailure)):
        lines.append(
            f"- [{failure.key}] the backward graph, compiled early: {failure.reason} "
            "(torch recompiles it when the backward pass runs)"
        )
    return "\n".join(["## Compiles that failed\n", *lines, ""]) if lines else ""


def _left(event: Skipped) -> str:
    place = event.place
    where = "" if place is None else f"{_code(label(place.function))} (`{place}`)"
    return f"- [{event.key}] {where}: {event.brief}"


def _caches(session: Session) -> str:
    keys: dict[str, dict[str, None]] = {}
    for use in session.of(CacheUse):
        why = f": {scrub(' '.join(use.reason.split()))}" if use.reason else ""
        found = f"{use.cache.replace('_', ' ')}: {use.result}{why}"
        keys.setdefault(found, {})[str(use.key)] = None
    lines = [f"- {found} ({', '.join(compiles)})" for found, compiles in keys.items()]
    note = "Code from a cache is shown as if it had been compiled here.\n"
    return "\n".join(["## Compile caches\n", note, *lines, ""]) if lines else ""


def _others(session: Session) -> str:
    lines = [f"- [{_cell(name)}]({name}/{INDEX})" for name in session.others()]
    for rank in range(session.world_size or 0):
        if session.directory.name == f"rank_{session.rank}" and rank != session.rank:
            lines.append(f"- [rank {rank}](../rank_{rank}/{INDEX})")
    return "\n".join(["## Other processes\n", *lines, ""]) if lines else ""


def _setting(session: Session) -> str:
    found = [f"{name} {version}" for name, version in session.versions.items()]
    lines = [f"{name} = {value}" for name, value in session.configuration.items()]
    if lines:
        lines = ["Settings that are not at their defaults:\n", "```text", *lines, "```"]
    if not found:
        return ""
    return "\n".join(["## Versions and configuration\n", ", ".join(found) + ".\n", *lines, ""])


def _problems(session: Session) -> str:
    lines = []
    for problem in session.of(Problem):
        lines.append(f"- {problem.where}: {' '.join(problem.what.split())}")
        if problem.detail:
            lines += ["", "  ```text", *("  " + x for x in problem.detail.splitlines()), "  ```"]
    return "\n".join(["## What pellucid could not do\n", *lines, ""]) if lines else ""


def _link(file: str) -> str:
    return f"[`{file}`]({file})"


def _code(text: str) -> str:
    return f"`{text}`"


def _cell(text: str) -> str:
    # Escape leading underscores (emphasis) and bars (the end of the cell).
    return " ".join(text.split()).replace("|", "\\|").replace("_", "\\_")
