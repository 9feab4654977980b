# SPDX-License-Identifier: Apache-2.0
"""What a terminal gets that a file or a pipe does not: colours, and a pager for long output.

Nothing here is used unless standard output is a terminal.  ``NO_COLOR`` (https://no-color.org) and
``TERM=dumb`` turn colours off; the pager is that of ``PELLUCID_PAGER``, else of ``PAGER``, else
``less``, and an empty one or ``cat`` is none, as git has it.
"""

import contextlib
import os
import re
import shutil
import signal
import sys
from typing import Iterator


def is_terminal() -> bool:
    """Return true if standard output is a terminal."""
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except ValueError:  # closed
        return False


def shows_colours() -> bool:
    """Return true if what is printed may have colours."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def highlighted(source: str) -> str:
    """Return Python source with the colours of a terminal; its characters are the same."""
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import PythonLexer

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    return str(highlight(source, lexer, TerminalFormatter()))


@contextlib.contextmanager
def paged(wanted: bool) -> Iterator[None]:
    """Send what is printed inside to a pager, if it is wanted and there is one.

    Messages go there too, where standard error is the same terminal.
    """
    command = _pager() if wanted and is_terminal() else ""
    if not command:
        yield
        return
    import subprocess

    # R: colours; F: nothing if it fits on the screen; X: it stays on the screen.
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    if not re.search("[rR]", environment["LESS"]):
        environment["LESS"] = f"-R {environment['LESS']}"  # else it would show colours as signs
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    streams = [
        sys.stdout,
        *([sys.stderr] if sys.stderr is not None and sys.stderr.isatty() else []),
    ]
    saved = []
    for stream in streams:
        stream.flush()
        saved.append((stream, os.dup(stream.fileno())))
        os.dup2(process.stdin.fileno(), stream.fileno())
    process.stdin.close()
    try:
        yield
    finally:
        for stream, before in saved:
            with contextlib.suppress(BrokenPipeError):
                stream.flush()
            os.dup2(before, stream.fileno())
            os.close(before)
        interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the pager's from here on
        process.wait()
        signal.signal(signal.SIGINT, interrupt)


def _pager() -> str:
    """Return the command of the pager; empty if there is none."""
    for name in ("PELLUCID_PAGER", "PAGER"):
        if name in os.environ:
            command = os.environ[name].strip()
            words = command.split()
            is_there = bool(words) and shutil.which(words[0]) is not None
            return command if is_there and command != "cat" else ""
    return "less" if shutil.which("less") else ""
