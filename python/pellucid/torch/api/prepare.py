# SPDX-License-Identifier: Apache-2.0
"""``prepare_debug``: capture everything that compiles inside a ``with`` block."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

from pellucid.dump.model.capture import count_graphs
from pellucid.dump.model.events import Frame, Graph, Problem
from pellucid.dump.model.stages import stage_named
from pellucid.dump.store.directories import Job, claim
from pellucid.dump.store.session import INDEX, Session, left_alone
from pellucid.explain.global_variables import data
from pellucid.findings import count_line

from ..capture.connection import CAPTURE, finish
from ..capture.progress import wants_progress
from ..capture.traced import add_error
from ..taps import hooks
from ..text.dump import only_graphs

_last: Session | None = None


def last_session() -> Session | None:
    """Return the innermost open capture, or else the one that closed last."""
    return CAPTURE.innermost or _last


@contextlib.contextmanager
def prepare_debug(
    dump_src_dir: str | os.PathLike[str],
    clean_wild_fx_code: bool = True,
    log_bytecode: bool = False,
    *,
    on_event: Callable[[Any], None] | None = None,
    calls: bool = False,
    progress: bool | None = None,
) -> Iterator[Session]:
    """Capture everything that ``torch.compile`` compiles inside the block, as files that run.

    Results, exceptions, graph breaks and recompiles are the same as without it.  Code that was
    compiled inside the block keeps running from its file afterwards, so breakpoints stay valid.

    Args:
        dump_src_dir: the directory of the files.  Ranks and child processes get a directory below
            it (``rank_0``, ``process_1``), and so does a capture whose directory is already in use
            (``capture_2``).
        clean_wild_fx_code: ignored; accepted for compatibility with depyf.
        log_bytecode: also disassemble transformed code in its file.
        on_event: called with each event as it is captured, for instance to show progress.
        calls: also count the calls of each compiled version inside the block.
        progress: show on standard error what is being compiled: rank, frame, phase and line.  If
            None, ``PELLUCID_PROGRESS`` in the environment decides.
    """
    global _last
    owned = claim(Path(dump_src_dir), job())
    opened = Session(owned.path, on_event, log_bytecode, owned)
    opened.rank, opened.world_size = hooks.place_in_job()
    opened.counts_calls = calls
    CAPTURE.open(opened)
    shown = wants_progress() if progress is None else progress
    hide = CAPTURE.show_progress() if shown else hooks.no_op
    _tell_depyf_programs(opened)
    try:
        yield opened
    except Exception as error:
        session = CAPTURE.own(opened)
        if session is not None:
            with session.guard("reading the error that ends the capture"):
                add_error(session, error)
        raise
    finally:
        hide()
        # A process forked inside the block also leaves it, with its own capture.
        session = CAPTURE.own(opened)
        if session is not None:
            _last = session
            finish(session)
            report(session)
        _tell_depyf_programs(session or opened)


def _tell_depyf_programs(session: Session) -> None:
    """Update the table that programs written for depyf read."""
    shown = CAPTURE.asked_for
    data["dump_src_dir"] = str((shown or session).directory)
    data["is_inside_prepare_debug"] = shown is not None


CALLS = "PELLUCID_CALLS"
"""The environment variable that makes automatic captures count calls."""


def wants_calls() -> bool:
    """Return true if the environment asks for call counts."""
    return os.environ.get(CALLS, "") not in ("", "0")


def job() -> Job:
    """Return the place of this process in a distributed job."""
    _, size = hooks.place_in_job()
    return Job(hooks.rank(), size or 1, hooks.is_ranked())


def dump_graph(
    name: str, graph_module: Any, metadata: Mapping[str, Any] | None = None
) -> Path | None:
    """Add a graph of a custom compiler stage to the open captures.

    Its file is named after the current compile and ``name``.  It runs by itself if its nodes have
    shapes.

    Args:
        name: the stage, such as ``"after fusion"``.
        graph_module: a ``torch.fx.GraphModule``.
        metadata: JSON values that distinguish it from other graphs of the stage, such as
            ``{"range": [1, 16], "pass": "fusion"}``. They appear in the name and the header of the
            file, in the index and in the page.

    Returns:
        The file, or None if no capture is open.

    Raises:
        TypeError: ``metadata`` has a key that is not a string, or a value that is not JSON.
    """
    known = _of_json(metadata)
    session = CAPTURE.innermost
    file = CAPTURE.add_graph(stage_named(name), graph_module, known)
    return None if session is None or file is None else session.path(file)


def _of_json(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a graph's metadata as JSON values."""
    if metadata is None:
        return None
    table = dict(metadata)
    if not all(isinstance(name, str) for name in table):
        raise TypeError("dump_graph: metadata keys must be strings")
    try:
        found: dict[str, Any] = json.loads(json.dumps(table))
    except ValueError as error:  # a value that contains itself
        raise TypeError(f"dump_graph: metadata: {error}") from None
    return found or None


_SERIOUS = ("limit", "eager", "hook")
"""The findings that make a capture warn; breaks and recompiles are then included in the count."""


def report(session: Session) -> None:
    """Issue at most one warning; a filter that makes it an error must not affect the program."""
    problems = session.of(Problem)
    found = [finding for finding in session.findings if finding.kind != "cache"]
    serious = any(finding.kind in _SERIOUS for finding in found)
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        text = f"{problems[0].where}: {problems[0].what}{more}"
    elif session.warns_when_empty and not session.of(Frame):
        left = len(left_alone(session))
        skipped = "1 frame" if left == 1 else f"{left} frames"
        kept = f": torch skipped {skipped}" if left else ""
        graphs = count_graphs(session.of(Graph))
        text = f"nothing was compiled inside prepare_debug{kept}"
        if graphs:
            text = f"{only_graphs(graphs, 'prepare_debug')}{kept}"
        text += f" ({count_line(found)})" if serious else ""
    elif session.warns_when_empty and serious:
        text = count_line(found)
    else:
        return
    with contextlib.suppress(Exception):
        warnings.warn(f"pellucid: {text}; see {session.path(INDEX)}", RuntimeWarning, stacklevel=4)
