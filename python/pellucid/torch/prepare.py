"""``prepare_debug``: capture everything that compiles inside a ``with`` block."""

from __future__ import annotations

import contextlib
import os
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator

from pellucid.explain.global_variables import data

from . import hooks
from .capture import CAPTURE, add_compiled_before, refresh_caches, write_summary
from .events import Frame, Problem
from .session import INDEX, Session

_last: Session | None = None


def last_session() -> Session | None:
    """The innermost open capture, or else the one that closed last."""
    return CAPTURE.innermost or _last


@contextlib.contextmanager
def prepare_debug(
    dump_src_dir: str | os.PathLike[str],
    clean_wild_fx_code: bool = True,
    log_bytecode: bool = False,
    *,
    on_event: Callable[[Any], None] | None = None,
) -> Iterator[Session]:
    """Capture what ``torch.compile`` makes inside the block, as files that also run.

    Results, exceptions, graph breaks and recompiles stay as they are without it.  Code that is
    compiled inside runs from its file afterwards too, so breakpoints stay good.

    Args:
        dump_src_dir: directory of the files; ranks above 0 get one below it (``rank_1``).
        clean_wild_fx_code: taken for the sake of programs written for depyf; there is nothing to
            clean, because no file is written that has no place in the dump.
        log_bytecode: also disassemble transformed code in its file.
        on_event: called with each event as it is captured, to show progress.
    """
    global _last
    directory = Path(dump_src_dir)
    if hooks.rank() > 0:
        directory = directory / f"rank_{hooks.rank()}"
    session = Session(directory, on_event, log_bytecode)
    CAPTURE.open(session)
    _tell_depyf_programs(session)
    try:
        yield session
    finally:
        CAPTURE.close(session)
        _last = session
        _tell_depyf_programs(session)
        with session.guard("closing the capture"):
            refresh_caches(session)
            add_compiled_before(session)
        for row in hooks.missing():
            session.problem("this torch", f"no {row.name}: {row.lost}")
        write_summary(session)
        _report(session)


def _tell_depyf_programs(session: Session) -> None:
    """Keep the table that programs written for depyf read."""
    shown = CAPTURE.innermost or session
    data["dump_src_dir"] = str(shown.directory)
    data["is_inside_prepare_debug"] = CAPTURE.innermost is not None


def _report(session: Session) -> None:
    """Say once what went wrong; a warning filter that raises must not reach the program."""
    problems = session.of(Problem)
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        text = f"{problems[0].where}: {problems[0].what}{more}"
    elif not session.of(Frame):
        text = "nothing was compiled inside prepare_debug"
    else:
        return
    with contextlib.suppress(Exception):
        warnings.warn(f"pellucid: {text}; see {session.path(INDEX)}", RuntimeWarning, stacklevel=4)
