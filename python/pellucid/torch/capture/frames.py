# SPDX-License-Identifier: Apache-2.0
"""Transformed frames: from Dynamo's bytecode to the file that runs in its place."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from types import CodeType
from typing import Mapping

from pellucid.dump.model.capture import first_graphs
from pellucid.dump.model.dynamo_names import broken_function, renamed
from pellucid.dump.model.events import Break, CompileKey, Frame, Graph, Place
from pellucid.dump.model.ids import BEFORE, own_id
from pellucid.dump.model.names import is_resumed
from pellucid.dump.model.origin import Origin
from pellucid.dump.model.traced import FailedGuard
from pellucid.dump.store.session import Session

from ..dynamo.links import links_of, resume_calls
from ..dynamo.rewrite import Rewriting, rewrite
from ..dynamo.terms import stack_values, terms
from ..dynamo.user_lines import resumed_codes, resumed_line
from ..taps import doors, graph_hooks, hooks, origins, wrapping
from ..text.dump import transformed_name, transformed_text
from .summary import add_entry


def write_frame(
    session: Session,
    compile_id: str | None,
    original: CodeType,
    transformed: CodeType,
    swap: bool,
    state: graph_hooks.FrameState | None = None,
    way: str = "",
) -> CodeType | None:
    """Write one transformed version; return the code that may run in its place.

    ``state`` and ``way`` are given for code that bypassed Dynamo's hook.
    """
    function, place = session.functions.number(original), place_of(original)
    key = session.key(compile_id)
    parent = CompileKey(session.resumes.parent(original, key), key.epoch)
    captured = first_graphs(session.of(Graph, key))
    graphs = [graph.text for graph in captured]
    state = state or graph_hooks.frame_being_compiled(original)
    way = "export" if state.is_export else way
    resumed = resumed_codes(transformed, state.globals)
    origin = Origin(original, key.slug, hooks.resume_parameters(original), state.globals)
    rewriting = rewrite(transformed, origin, graphs)
    wrapped = graph_hooks.wrapped_name(original, state.cells)
    wrapper = ""
    if wrapped:
        place = replace(place, function=wrapped)
    else:
        with session.guard(f"finding what {place.function} wraps"):
            inner = _wrapped(session, parent, original, state)
            if inner:
                wrapper = broken_function(place.function)[0]
                place = replace(place, function=renamed(place.function, inner))
    name = session.claim(transformed_name(key, place.function), (key, function))
    replacement, running = None, ""
    if not swap:
        running = "the file of a nested capture runs instead"
    elif rewriting.source is None:
        running = "there is no source"
    elif not rewriting.verdict.proven:
        running = "without a proof, Dynamo's code runs instead"
    stack = _stack(session, original, parent)
    if wrapped:
        stack["fn"] = f"the compiled function ({wrapped}), which torch wrapped in this function"
    text = _text(session, key, place, rewriting, running, stack)
    if not running:
        try:
            replacement = _compiled(session, key, rewriting, text, str(session.path(name)))
        except Exception as error:
            running = f"{type(error).__name__}: {error}"
            text = _text(session, key, place, rewriting, running, stack)
    session.write(name, text)
    if swap:  # once, whatever the number of open captures
        with session.guard(f"sending {name} to torch's trace"):
            hooks.send_artifact(name.rpartition(".")[0].strip("_"), text)
    source, verdict = rewriting.source, rewriting.verdict
    runs = replacement is not None
    event = Frame(key, function, place, source, verdict, name, runs, way=way, wrapper=wrapper)
    with session.guard(f"linking {name} to the user's lines"):
        called = {f"__compiled_fn_{key.slug}": graph.file for graph in captured[-1:]}
        lines = _user_lines(rewriting, text)
        links = links_of(text, original, called, _broken(session, key, place), lines, resumed)
        event = replace(event, links=links, parent=parent.id or "")
        session.resumes.note(key, resume_calls(text, resumed))
    session.record(event)
    return replacement


def _wrapped(
    session: Session, parent: CompileKey, original: CodeType, state: graph_hooks.FrameState
) -> str:
    """Return the function that this one wraps, also for a resume function; empty for none."""
    if not is_resumed(original.co_name):
        return wrapping.wrapped_function(original, state.cells)
    before = session.of(Frame, parent)
    return broken_function(before[0].place.function)[0] if before and before[0].wrapper else ""


def _compiled(
    session: Session, key: CompileKey, rewriting: Rewriting, text: str, file: str
) -> CodeType:
    """Return the code that replaces Dynamo's; it counts its calls if the session asks for that."""
    if session.counts_calls:
        count = session.counter(key)
        with contextlib.suppress(Exception):
            code = rewriting.compile(text, file, count)
            if any(constant is count for constant in code.co_consts):
                return code
        session.without_counter(key)
    return rewriting.compile(text, file)


def _broken(session: Session, key: CompileKey, place: Place) -> set[int]:
    """Return the lines of a file at which a compile breaks."""
    texts = [stop.text for stop in session.of(Break, key)]
    found = [match for text in texts for match in _BROKEN.findall(text)]
    return {int(line) for file, line in found if file == place.file}


_BROKEN = re.compile(r"Graph break in user code at (.+):(\d+)$", re.MULTILINE)


def _user_lines(rewriting: Rewriting, text: str) -> list[tuple[int, int]]:
    """Return pairs of a line of the file and a user's line, from the bytecode."""
    shown = (rewriting.source or "").strip("\n")
    first = text.partition(shown)[0].count("\n") if shown else 0
    return [(first + a, b) for a, b in rewriting.lines]


def _text(
    session: Session,
    key: CompileKey,
    place: Place,
    rewriting: Rewriting,
    running: str,
    stack: Mapping[str, str],
) -> str:
    breaks = session.of(Break, key)
    told = terms(rewriting.source or "", rewriting.constants, stack)
    return transformed_text(key, place, rewriting, breaks, running, session.show_bytecode, told)


def _stack(session: Session, original: CodeType, parent: CompileKey) -> dict[str, str]:
    """Return the values on the stack at the break after which ``original`` resumes."""
    for frame in session.of(Frame, parent) if is_resumed(original.co_name) else ():
        code = session.functions.code(frame.function)
        if frame.source is not None and code is not None:
            return stack_values(original, frame.source, code, str(parent))
    return {}


def add_compiled_before(session: Session) -> None:
    """Add the code that was compiled before the capture began, from torch's cache entries."""
    for code in hooks.compiled_before():
        if session.functions.known(code) is not None:
            continue
        for raw in hooks.cache_entries(code):
            with session.guard(f"dumping {code.co_name}, compiled before the capture"):
                _compiled_before(session, code, raw)


def add_made_before(session: Session) -> None:
    """Add the code that was compiled ahead of time or loaded before the capture began."""
    for number, made in enumerate(doors.made_before()):
        raw = hooks.RawEntry(own_id(BEFORE, number), made.code, made.guard_manager)
        with session.guard(f"dumping {made.original.co_name}, compiled before the capture"):
            _compiled_before(session, made.original, raw)
            add_entry(session, made.original, raw)
            for text, place in doors.failures_before(made):
                session.record(FailedGuard(CompileKey(raw.compile_id), text, place))


def _compiled_before(session: Session, code: CodeType, raw: hooks.RawEntry) -> None:
    key, place = CompileKey(raw.compile_id), place_of(code)
    function = session.functions.number(code)
    origin = replace(origins.origin_of_entry(code, raw), tag=key.slug)
    rewriting = rewrite(raw.code, origin)
    name = session.claim(transformed_name(key, code.co_name), (key, function))
    why = "it was compiled before the capture began, and is only shown"
    session.write(name, _text(session, key, place, rewriting, why, {}))
    source, verdict = rewriting.source, rewriting.verdict
    session.record(Frame(key, function, place, source, verdict, name, swapped=False, before=True))


def place_of(code: CodeType) -> Place:
    """Return the line where a function begins, or where it resumes if it is a resume function."""
    line = resumed_line(code) if is_resumed(code.co_name) else None
    return Place(code.co_filename, line or code.co_firstlineno, code.co_name)
