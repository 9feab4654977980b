# SPDX-License-Identifier: Apache-2.0
"""The process of a trial, which a :mod:`.server` starts with an order.

The order is a JSON file; the answer is written beside it. See :mod:`.trial` for both. Processes
started by the program take part (:mod:`.follow`).
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any, Mapping

from pellucid.process import run_file

from . import follow
from .applied import Applied
from .working import Working


def main(order: Path) -> None:
    """Run the program of an order and write the answer."""
    asked = json.loads(order.read_text(encoding="utf-8"))
    os.chdir(asked["working"])
    sys.dont_write_bytecode = True
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = asked["cache"]
    os.environ.update(follow.others(order, asked))
    working = Working(asked["working"], asked["kept"])
    working.watch()
    answer: dict[str, Any] = {"seconds": 0.0}
    applied = Applied(asked)
    try:
        raised = "" if applied.refused else _run(asked, applied, answer)
        answer.update(applied.answer(raised))
    finally:
        order.with_name("answer.json").write_text(json.dumps(answer), encoding="utf-8")


def _run(asked: Mapping[str, Any], applied: Applied, answer: dict[str, Any]) -> str:
    """Run the program in a capture; return the exception it raised."""
    from ..api.prepare import prepare_debug

    edited = applied.edited
    if edited is not None:
        edited.install()
        if edited.copy:
            Path(edited.copy).write_text(edited.text, encoding="utf-8")
    applied.before_compiling()
    started = time.monotonic()
    with prepare_debug(asked["out"]) as session:
        session.warns_when_empty = False
        session.command = ()
        if edited is not None:
            session.sources[edited.file] = edited.text.encode()
        raised = _program(asked["command"], asked["folder"])
        answer["seconds"] = time.monotonic() - started
    return raised


def _program(command: list[str], folder: str) -> str:
    """Run the program; return the exception it raised, on one line."""
    sys.argv = list(command)
    try:
        if command[0] == "-m":
            sys.argv = command[1:]
            sys.path[0] = folder
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(command[0]))
            run_file(command[0])
    except SystemExit as error:
        return "" if error.code in (None, 0) else f"SystemExit: {error.code}"
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    return ""
