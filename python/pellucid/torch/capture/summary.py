# SPDX-License-Identifier: Apache-2.0
"""The files that are written at the end of a capture: guards, full code, index and record."""

from __future__ import annotations

from dataclasses import replace
from types import CodeType
from typing import Any, Callable, Container, Iterable, Mapping, Sequence

from pellucid.dump.model.capture import NODES, place_of_versions
from pellucid.dump.model.events import (
    CacheEntry,
    CompileKey,
    Frame,
    Graph,
    Problem,
    Recompile,
)
from pellucid.dump.model.guard_places import with_lines
from pellucid.dump.model.names import definable
from pellucid.dump.model.nodes import nodes_to_bytes
from pellucid.dump.store.record import RECORD, TIMES, record_text, side_files, times_text
from pellucid.dump.store.session import INDEX, Session
from pellucid.findings import find

from ..guards import translate as guards
from ..taps import guard_objects, guard_state, guard_tree, guard_ways, hooks
from ..taps.shapes import SHAPES
from ..text.full_code import full_code_name, full_code_text
from ..text.full_code_names import bindings
from ..text.index import index_text
from ..text.launch import LAUNCH, launch_text, target_of
from .sources import add_sources


def refresh_caches(session: Session, forgotten: bool = False) -> None:
    """Read the cache entries of everything captured, with their guards.

    ``forgotten`` means that torch is about to drop them.
    """
    for function, code in session.functions.cached():
        with session.guard(f"reading the guards of {code.co_name}"):
            read = _entries(session, function, code)
            if not read:
                session.functions.without_cache(function)
            elif forgotten:
                session.functions.forget(function, read)
            entries = [*session.functions.arrived(function), *([] if forgotten else read)]
            if entries:
                session.functions.set_cache(function, entries)


def _entries(session: Session, function: int, code: CodeType) -> list[CacheEntry]:
    frames = session.of(Frame, function)
    # After a reset, an id can be reused; the cache entry belongs to the newest compile.
    newest = {frame.key.id: frame.key for frame in frames}
    # Before torch 2.6, an entry does not have its id, but its code has the name of its file.
    by_file = {str(session.path(frame.file)): frame.key for frame in frames}
    result = []
    for raw in hooks.cache_entries(code):
        key = newest.get(raw.compile_id) or by_file.get(raw.code.co_filename)
        key = key or CompileKey(raw.compile_id)
        result.append(entry_of(key, code, raw, session.ways.get(key, {}), session.user_files))
    return result


def entry_of(
    key: CompileKey,
    code: CodeType,
    raw: hooks.RawEntry,
    ways: guard_ways.Ways | None = None,
    files: Container[str] = (),
) -> CacheEntry:
    """Read the guards of one compiled version of a function with this code.

    ``ways`` records how torch reached the guards; ``files`` are the candidates for user lines.
    """
    manager = raw.guard_manager
    if manager is None or not guard_tree.can_be_read(getattr(manager, "root", manager)):
        return CacheEntry(key, ())
    guard_objects.check(manager)
    names = guard_state.names()
    made = guards.translate(manager, key.slug, names, guard_state.type_name, ways or {}, files)
    kept = made.kept.runs(raw.code, code)
    return CacheEntry(key, made.guards, made.body, kept, made.forms)


def add_entry(session: Session, code: CodeType, raw: hooks.RawEntry) -> None:
    """Store the guards of code that is not in torch's cache."""
    key = session.key(raw.compile_id)
    entry = entry_of(key, code, raw, session.ways.get(key, {}), session.user_files)
    session.functions.add_arrived(session.functions.number(code), entry)


def _full_code_names(session: Session) -> dict[int, str]:
    """Return the full-code file of each compiled function."""
    names: dict[int, str] = {}
    for function, _ in session.functions.all():
        frames = session.of(Frame, function)
        if not frames:
            continue
        wanted = full_code_name(frames[0].key.frame, place_of_versions(frames).function)
        names[function] = session.claim(wanted, function)
    return names


def _binder(
    session: Session, entries: list[CacheEntry], files: dict[int, str], graphs: Mapping[str, str]
) -> Callable[[Iterable[str]], list[str]]:
    """Return a function that generates the bindings of the global names in the full code."""
    values: dict[str, Any] = {}
    for entry in entries:
        values.update(() if entry.kept is None else entry.kept.named(entry.key.slug))

    def find_file(code: CodeType) -> tuple[str, str] | None:
        number = session.functions.known(code)
        file = None if number is None else files.get(number)
        return None if file is None else (file, definable(code.co_name))

    return lambda names: bindings(names, values, graphs, find_file)


def _add_missed(session: Session) -> None:
    """Record the internals of torch that were not found, once each."""
    for row in SHAPES.missing:
        problem = Problem("this torch", f"no {row.name} in the expected place: {row.lost}")
        if problem not in session.of(Problem):
            session.record(problem)


def _link_resume_functions(session: Session) -> None:
    """Link the calls of resume functions to the files of their frames."""
    frames = session.of(Frame)
    files = {(f.parent, f.key.epoch, f.function): f.file for f in frames if f.parent}
    changes = []
    for frame in frames:
        links = []
        for link in frame.links:
            code = session.resumes.called(frame.key, link.line) if link.kind == "resume" else None
            number = None if code is None else session.functions.known(code)
            called = (frame.key.id or "", frame.key.epoch, -1 if number is None else number)
            links.append(replace(link, target=files.get(called, link.target)))
        if tuple(links) != frame.links:
            changes.append((frame, replace(frame, links=tuple(links))))
    session.replace(changes)


def write_summary(session: Session) -> None:
    """Write full code, index and record, which are only known at the end."""
    full: dict[str, list[Frame]] = {}
    names = _full_code_names(session)
    captured = {g.key: g.file for g in session.of(Graph) if g.stage == "captured"}
    graphs = {f"__compiled_fn_{key.slug}": file for key, file in captured.items()}
    for function, code in session.functions.all():
        versions = session.of(Frame, function)
        if not versions:
            continue
        place = place_of_versions(versions)
        with session.guard(f"writing the full code of {place.function}"):
            by_key = {frame.key: frame for frame in versions}
            recompiles = [event for key in by_key for event in session.of(Recompile, key)]
            name = names[function]
            entries = session.functions.cache(function)
            bind = _binder(session, entries, names, graphs)
            text = full_code_text(place, code, entries, by_key, recompiles, bind)
            session.write(name, text)
            session.functions.set_cache(function, [with_lines(entry, text) for entry in entries])
            for entry in entries:
                guard_objects.register(str(session.path(name)), entry.key.slug, entry.kept)
            full[name] = versions
    with session.guard("reading versions and configuration"):
        session.versions = hooks.versions()
        session.configuration = hooks.changed_configuration()
        rank, size = hooks.place_in_job()
        if rank is not None:  # otherwise the job may have ended before the capture
            session.rank, session.world_size = rank, size
    _add_missed(session)
    _link_resume_functions(session)
    with session.guard("keeping the user's files"):
        add_sources(session, hooks.folder())
    write_record(session, full)


def write_record(session: Session, full: Mapping[str, Sequence[Frame]]) -> None:
    """Write index and record; ``full`` maps each full-code file to its versions."""
    known, problems = session.snapshot(), session.of(Problem)
    with session.guard("finding causes"):
        session.findings = tuple(find(known))
    with session.guard("writing the index"):
        # The index is the same in every run, so it omits compile times.
        told = [finding for finding in session.findings if finding.kind != "slow"]
        session.write(INDEX, index_text(session, full, told, known))
    with session.guard("writing how a debugger starts the program"):
        name, target = target_of(session.mark.program)
        is_alone = not session.process and (session.world_size or 1) == 1
        dump = str(session.directory) if session.is_automatic else ""
        session.write(LAUNCH, launch_text(name, target if is_alone else None, dump))
    with session.guard("writing the times"):
        session.write(TIMES, times_text(known))
    with session.guard("writing the side files of the record"):
        session.write(NODES, nodes_to_bytes(session.nodes))
        for name, data in side_files(known).items():
            session.write(name, data)
    with session.guard("writing the record"):
        # Nothing but problems is recorded while these files are written.
        if session.of(Problem) != problems:
            known = session.snapshot()
        files = tuple(sorted({*session.files(), RECORD}))
        session.write(RECORD, record_text(replace(known, files=files)))
