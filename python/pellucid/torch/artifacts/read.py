# SPDX-License-Identifier: Apache-2.0
"""``open_artifact``: what torch saved of compiled code becomes a capture with a page."""

from __future__ import annotations

import contextlib
import linecache
import os
import re
from pathlib import Path
from typing import Any, Iterator, Mapping

from pellucid.brief import counted
from pellucid.dump.model.capture import Capture, count_graphs
from pellucid.dump.model.events import Artifact, CompileKey, Frame, Graph
from pellucid.dump.model.ids import LOADED, own_id
from pellucid.dump.model.names import identifier
from pellucid.dump.model.stages import program_direction
from pellucid.dump.store.directories import Job, claim
from pellucid.dump.store.session import Session
from pellucid.report import report

from ..capture.connection import collector_at_rest
from ..capture.records import on_record, write_graph, write_program
from ..capture.sources import add_sources
from ..capture.summary import write_record
from ..logs.answers import Answers
from ..taps.trace import TraceRecord
from .compiled import Backend, backends_in, functions_in, sources_in, system_of
from .exported import graph_of
from .frames import Frames, place_in
from .parts import EXPORTED, PRECOMPILED, Parts, parts_of

_ALWAYS = (
    "what happened while torch compiled: graph breaks, recompiles, times, settings",
    "frames that torch skipped",
)
_NO_FRAMES: Mapping[str, str] = {
    EXPORTED: "frames and guards: the graph is called with tensors, and checks its inputs itself",
    PRECOMPILED: "frames and guards: the program was traced by make_fx from an example",
}
_GUARDS = "guards that torch dropped when it saved, such as those on globals and modules"
_IDS = "the objects that guards compare by identity: a guard has the class only"
_NO_GRAPHS = "graphs of some functions: a backend such as aot_eager does not save them"
_NO_CODE = "frames and guards: these are graphs, which the code that calls them is not part of"


def open_artifact(artifact: str | os.PathLike[str], directory: str | os.PathLike[str]) -> Path:
    """Turn compiled code that torch saved into a capture with a page; return the page's path.

    Nothing is loaded, imported or executed, and PyTorch is not needed.

    Args:
        artifact: a function that ``save_compiled_function`` wrote, a folder of torch's caches or a
            file in one, what ``save_cache_artifacts`` returned, a ``.pt2``, or what
            ``torch.compiler.precompile`` wrote.
        directory: the directory of the capture.

    Raises:
        NotAnArtifact: torch saves no compiled code like that.
        OSError: a file cannot be read, or the directory cannot be created.
    """
    parts = parts_of(Path(artifact))
    owned = claim(Path(directory), Job())
    session = Session(owned.path, claim=owned)
    session.date = ""
    try:
        with collector_at_rest(), _no_files():
            _Reading(session, parts).write()
    except BaseException:
        session.discard()
        raise
    return report(directory)


class _Answers(Answers):
    """Answers without a torch: that of this process, if there is one, is not imported."""

    def computed_again(self) -> None:
        return None


class _Reading:
    """Reads the parts of an artifact into a session."""

    def __init__(self, session: Session, parts: list[Parts]) -> None:
        self._session = session
        self._parts = parts
        self._answers = _Answers()
        trees = [tree for part in parts for tree in part.trees]
        session.versions, version = system_of(trees)
        self._functions = functions_in(trees)
        self._backends = backends_in(trees)
        self._modules = sources_in(trees)
        self._frames = Frames(session, version)
        self._nameless = len(self._functions)

    def write(self) -> None:
        """Write all files."""
        session = self._session
        self._keep_sources()
        keys = self._frames.name(self._functions)
        for name, backend in self._backends:
            key = keys.get(name) or self._next()
            with session.guard(f"reading the graphs of [{key}]"):
                self._graphs(key, backend)
        for part in self._parts:
            for name, text in part.texts:
                with session.guard(f"reading {name}"):
                    self._text(part, name, text)
        self._frames.write()
        full = self._frames.write_full_code()
        for part in self._parts:
            session.record(self._told(part))
        with session.guard("keeping the user's files"):
            add_sources(session, "/torch/", self._answers.keep_source)
        write_record(session, full)
        session.close()

    def _next(self) -> CompileKey:
        self._nameless += 1
        return self._session.key(own_id(LOADED, self._nameless - 1))

    def _graphs(self, key: CompileKey, backend: Backend) -> None:
        self._send(key, "dynamo_output_graph", backend.captured)
        self._send(key, "aot_joint_graph", backend.joint)
        self._send(key, "aot_forward_graph", backend.forward)
        self._send(key, "aot_backward_graph", backend.backward)
        for graph, program in backend.programs:
            self._answers.pass_of_graph = program_direction(program)
            self._send(key, "inductor_post_grad_graph", graph)
            self._send(key, "inductor_output_code", program)

    def _send(self, key: CompileKey, kind: str, text: str) -> None:
        """Handle a text as if torch had sent it to its trace, as it does when it loads one."""
        if text:
            self._answers.add_lines({}, text)
            record = TraceRecord(kind, {}, text, key.id, 0)
            on_record(self._session, record, False, self._answers)

    def _text(self, part: Parts, name: str, text: str) -> None:
        session = self._session
        if name.endswith(".json"):
            graph = graph_of(text)
            if graph:
                write_graph(
                    session, self._next(), "exported", None, graph, False, "", self._answers
                )
        elif part.kind == PRECOMPILED:
            write_program(session, self._next(), "precompiled", text, False, "", self._answers)
        elif name.endswith(".py"):
            self._send(self._next(), "inductor_output_code", text)
        else:
            what = identifier(name.rpartition("/")[2].split(".")[-2])
            stage = f"inductor_aot_{what}_code"
            key = session.key(own_id(LOADED, 0))
            write_graph(session, key, stage, None, text, False, "", self._answers)

    def _told(self, part: Parts) -> Artifact:
        lacks = [_NO_FRAMES.get(part.kind, _NO_CODE)]
        frames = self._session.of(Frame)
        if frames:
            lacks = [_IDS] if part.dropped else [_GUARDS, _IDS]
            if not all(self._session.of(Graph, frame.key) for frame in frames):
                lacks.append(_NO_GRAPHS)
        return Artifact(
            part.name,
            part.kind,
            part.size,
            (*lacks, *_ALWAYS),
            tuple(part.notes[:100]),
            part.dropped,
        )

    def _keep_sources(self) -> None:
        """Keep the texts of modules that torch saved with the functions in them."""
        for versions in self._functions:
            place = place_in(versions[0].original)
            file, line, name = place.file, place.line, place.function
            for _, first, text in self._modules:
                lines = text.split("\n")
                at = "\n".join(lines[max(line - 1, 0) : line + 20])
                if first == line and re.search(rf"\b{re.escape(name)}\b|lambda", at):
                    self._session.sources[file] = text.encode("utf-8", "surrogatepass")
                    linecache.cache[file] = (len(text), None, [f"{x}\n" for x in lines], file)


class _Known(dict):  # type: ignore[type-arg]
    """A cache of lines that has every file: those that it lacks have no lines."""

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, file: str) -> Any:
        return (0, None, [], file)


@contextlib.contextmanager
def _no_files() -> Iterator[None]:
    """Let nothing read the files that an artifact names: whoever wrote it chose their names."""
    before, linecache.cache = linecache.cache, _Known()
    try:
        yield
    finally:
        linecache.cache = before


def summary(capture: Capture) -> str:
    """Return the numbers of functions, guards and graphs of a capture, in one line."""
    frames = capture.of(Frame)
    proven = sum(frame.verdict.proven for frame in frames)
    guards = sum(len(entry.guards) for entries in capture.caches.values() for entry in entries)
    graphs = count_graphs(capture.of(Graph))
    told = f"{counted(len(frames), 'compiled version')} ({proven} proven), "
    return f"{told}{counted(guards, 'guard')}, {counted(graphs, 'graph')}"
