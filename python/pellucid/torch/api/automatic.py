# SPDX-License-Identifier: Apache-2.0
"""A capture that the program did not open: :mod:`pellucid._autodump` begins and ends it.

It encloses all other captures of its process, opens at the first compile, and is silent: it issues
no warnings, and programs that check whether they are inside ``prepare_debug`` do not see it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Protocol

from pellucid.dump.store.directories import Mark, claim, this_program
from pellucid.dump.store.load import captures_below
from pellucid.dump.store.session import Session
from pellucid.process import ending_error, launched, started
from pellucid.report import ending

from ..capture.connection import CAPTURE, finish
from ..capture.progress import wants_progress
from ..capture.traced import add_error
from ..taps import hooks
from . import prepare


class Origin(Protocol):
    """The settings passed to the process at startup (:class:`pellucid._autodump.Origin`)."""

    @property
    def directory(self) -> str:
        """The directory for the captures of the run; empty if only progress is to be shown."""

    @property
    def run(self) -> str:
        """The id of the run."""

    @property
    def process(self) -> int:
        """The id of the process that got these settings; a different process is a fork of it."""

    @property
    def first(self) -> bool:
        """Whether this process may use the directory itself, or its rank's directory below it."""

    @property
    def asked(self) -> bool:
        """Whether this is the program of ``pellucid run``."""


_begun: list[Origin] = []


def begin(origin: Origin) -> None:
    """Start capturing, or only showing progress; a second call does nothing."""
    if _begun:
        return
    _begun.append(origin)
    if not origin.asked:
        hooks.QUIET.set()
    if wants_progress():
        CAPTURE.show_progress()
    if origin.directory:
        CAPTURE.open_later(lambda: _session(origin))


def _session(origin: Origin) -> Session:
    mark = Mark(origin.run, this_program())
    first = origin.first and os.getpid() == origin.process
    try:
        owned = claim(Path(origin.directory), prepare.job(), mark, first)
    except OSError as error:
        if sys.stderr is not None:
            print(f"pellucid: nothing is captured: {error}", file=sys.stderr)
        raise
    session = Session(owned.path, None, False, owned, mark)
    session.counts_calls = prepare.wants_calls()
    session.started, session.started_in = launched()
    session.rank, session.world_size = hooks.place_in_job()
    session.process = session.process or ("" if first else owned.path.name)
    return session


def end(origin: Origin) -> None:
    """Close the captures of this process, and print the outcome if it was asked for."""
    if not origin.directory:
        return
    here = os.getpid() == origin.process
    asked = origin.asked and here
    wanted = asked or (origin.first and here and hooks.asked_to_compile())
    try:
        if wanted and not CAPTURE.automatic() and not captures_below(origin.directory):
            begin(origin)  # to report that nothing was compiled
            CAPTURE.open_sessions()
        for session in CAPTURE.automatic():
            with session.guard("reading the error that ends the program"):
                add_error(session, ending_error())
            finish(session)
    finally:
        if asked:
            ending.tell_end(origin.directory, started(origin.run), why_nothing())


def why_nothing() -> str:
    """Return why this process compiled nothing, if known."""
    why = ending.ONLY_WRAPPED if hooks.asked_to_compile() else ending.NO_CALL_SEEN
    return ending.nothing_compiled(why, ending_error())
