# SPDX-License-Identifier: Apache-2.0
"""The other processes of a program on trial: each Python process that it starts gets the remedy.

The first process puts the path of its order into the environment. :mod:`pellucid._autodump`, which
begins a capture in each of these processes, calls this module. A script that the remedy edits is
run by :func:`script`, since Python itself would read the original file.

A forked process has the remedy anyway; the results of its compiled functions are not compared.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Mapping

from pellucid.dump.store.directories import child_number, numbered
from pellucid.process import DUMP, RUN, TRIAL, ending_error, named_for_python, run_file

from .applied import Applied
from .working import Working

_SCRIPT = "from pellucid.torch.trying.follow import script; script()"


_COMPILERS = os.path.join("torch", "_inductor", "compile_worker")


def takes_part() -> bool:
    """Return true if this starting process belongs to the program, not to the compiler.

    Inductor also starts Python with ``-c``, and so does multiprocessing, which can be recognized.
    """
    given = getattr(sys, "orig_argv", ())
    if "--multiprocessing-fork" in given or _SCRIPT in given:
        return True
    command = named_for_python()[1]
    return bool(command) and _COMPILERS not in command[0]


def others(order: Path, asked: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables that make the program's processes take part in its trial."""
    rank, process = os.environ.get("RANK", ""), os.getpid()
    return {TRIAL: str(order), DUMP: asked["out"], RUN: f"trial-{process}/{rank}/{process}"}


class Follower:
    """One of these processes."""

    def __init__(self, order: str) -> None:
        self._answers = Path(order).parent
        self._asked = json.loads(Path(order).read_text(encoding="utf-8"))
        self._applied = Applied(self._asked)

    def start(self) -> None:
        """Prepare the process before the program begins."""
        Working(self._asked["working"], self._asked["kept"]).watch()
        edited = self._applied.edited
        if edited is None:
            return
        options, command = named_for_python()
        if command and edited.is_at(command[0]):
            os.execv(sys.executable, [sys.executable, *options, "-c", _SCRIPT, *command])
        edited.install()

    def before_compiling(self) -> None:
        """Apply the remedy, once torch is imported."""
        self._applied.before_compiling()

    def end(self) -> None:
        """Write the answer."""
        error = ending_error()
        raised = "" if error is None else f"{type(error).__name__}: {error}"[:300]
        script = os.path.basename(sys.argv[0])
        for name in numbered(f"{os.environ.get('RANK', '')}-{child_number()}-{script}"):
            file = self._answers / f"answer-{name}.json"
            with contextlib.suppress(FileExistsError), file.open("x", encoding="utf-8") as stream:
                json.dump(self._applied.answer(raised, str(name)), stream)
                return


def script() -> None:
    """Run the script that is named in this process's arguments."""
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    run_file(sys.argv[0])
