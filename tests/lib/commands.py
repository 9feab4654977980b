# SPDX-License-Identifier: Apache-2.0
"""Commands that tests run, with all that they say."""

import os
import subprocess
import sys
import tempfile
import traceback
from typing import Any, List

PELLUCID = [sys.executable, "-m", "pellucid"]


def run(*command: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command that asks for nothing; return its exit code and what it said.

    `PELLUCID` is run in a fork of this process: Python and what the command line imports take a
    seventh of a second of a processor to start, and hundreds of tests call it.
    """
    words = [*map(str, command)]
    if words[:3] == PELLUCID and hasattr(os, "fork"):
        return _forked(words)
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=600,
        check=False,
    )


def _forked(words: List[str]) -> "subprocess.CompletedProcess[str]":
    import pellucid.commands  # noqa: F401  # what most of them need

    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os._exit(_main(words[3:]))
        status = os.waitpid(child, 0)[1]
        status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, status, out.read(), err.read())


def _main(arguments: List[str]) -> int:
    """Call `main` with streams as Python opens them; return the exit code."""
    from pellucid.__main__ import main

    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace")
    sys.argv = ["pellucid", *arguments]
    try:
        status = main()
    except SystemExit as ended:  # argparse has said why
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    return status
