# SPDX-License-Identifier: Apache-2.0
"""What a terminal gets that a file or a pipe does not: colours, and a pager for long output.

``NO_COLOR`` (https://no-color.org) and ``TERM=dumb`` turn colors off, and ``FORCE_COLOR`` turns
them on for a file or a pipe as well.  The pager is ``PELLUCID_PAGER``, ``PAGER`` or ``less``; like
git, an empty value or ``cat`` means none.
"""

import contextlib
import io
import os
import re
import shutil
import signal
import sys
import threading
from typing import Any, Iterator, List, Mapping, Optional


def is_terminal() -> bool:
    """Return true if standard output is a terminal."""
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except ValueError:  # closed
        return False


def columns() -> Optional[int]:
    """Return the width of the terminal; None if standard output is none."""
    return shutil.get_terminal_size().columns if is_terminal() else None


def choose_colours(color: str) -> None:
    """Apply ``--color``: "always", "never", or "auto" for what the environment says."""
    if color != "auto":
        for name in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(name, None)
        os.environ["NO_COLOR" if color == "never" else "FORCE_COLOR"] = "1"  # rich reads them too


def be_quiet() -> None:
    """Apply ``--quiet``, here and in the processes that this one starts."""
    os.environ["PELLUCID_QUIET"] = "1"


def is_quiet() -> bool:
    """Return true if neither progress nor a summary is wanted."""
    return os.environ.get("PELLUCID_QUIET", "0") not in ("", "0")


def inform(text: str) -> None:
    """Print a message on standard error that is neither a warning nor an error, unless quiet."""
    if not is_quiet():
        print(f"pellucid: {text}", file=sys.stderr, flush=True)


def shows_colours() -> bool:
    """Return true if the output may have colours."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        is_terminal() and os.environ.get("TERM") != "dumb"
    )


def highlighted(source: str) -> str:
    """Return Python source with the colours of a terminal; its characters are the same."""
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import PythonLexer

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    return str(highlight(source, lexer, TerminalFormatter()))


def styled(text: str, styles: Mapping[str, str]) -> str:
    """Return text with the styles of a terminal, by regular expression."""
    from rich.console import Console
    from rich.text import Text

    shown = Text(text)
    for pattern, style in styles.items():
        shown.highlight_regex(pattern, style)
    console = Console(force_terminal=True, color_system="standard", soft_wrap=True)
    with console.capture() as captured:
        console.print(shown, end="", soft_wrap=True)
    return captured.get()


@contextlib.contextmanager
def paged(wanted: bool) -> Iterator[None]:
    """Send standard output to a pager, if one is wanted and there is one.

    Messages never go through it. They are printed when it has ended, since they would otherwise
    appear in the middle of its screen. Quitting the pager early ends what is inside; Ctrl-C ends
    both.
    """
    command = _pager() if wanted and is_terminal() else ""
    if not command:
        yield
        return
    import subprocess

    # R: colours; F: nothing if it fits on the screen; X: it stays on the screen; K: Ctrl-C ends it.
    environment = {"LESS": "FRXK", "LV": "-c", **os.environ}
    if not re.search("[rR]", environment["LESS"]):
        environment["LESS"] = f"-R {environment['LESS']}"  # else it would show colours as signs
    modes = _modes()
    # A shell only for what needs one: it would not hand on the signal that ends the pager.
    is_plain = re.fullmatch(r"[\w./+ -]+", command) is not None
    process = subprocess.Popen(
        command.split() if is_plain else command,
        shell=not is_plain,
        stdin=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
        errors="backslashreplace",
    )
    assert process.stdin is not None
    interrupts: List[int] = []

    def interrupt(number: int, frame: object) -> None:
        # At once: this thread may wait for the pager to read, and where it is now an exception may
        # be lost.
        interrupts.append(number)
        process.terminate()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    messages = io.StringIO()
    held = sys.stderr is not None and sys.stderr.isatty()
    try:
        with contextlib.redirect_stdout(process.stdin), contextlib.ExitStack() as stack:
            if held:
                stack.enter_context(contextlib.redirect_stderr(messages))
            with contextlib.suppress(BrokenPipeError):  # the reader has seen enough
                yield
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()
        if interrupts:
            raise KeyboardInterrupt
    except BaseException:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        process.terminate()
        process.wait()
        if not process.stdin.closed:
            with open(os.devnull, "wb") as nowhere:  # for what nobody will read
                os.dup2(nowhere.fileno(), process.stdin.fileno())
            process.stdin.close()
        _restore(modes)
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        if messages.getvalue():
            print(messages.getvalue(), end="", file=sys.stderr)


def _modes() -> Optional[List[Any]]:
    """Return how the terminal is set; None on systems that do not say."""
    try:
        import termios
    except ImportError:
        return None
    with contextlib.suppress(termios.error, OSError, ValueError):
        return termios.tcgetattr(sys.stdout.fileno())
    return None


def _restore(modes: Optional[List[Any]]) -> None:
    """Set the terminal as it was: a pager that was ended may have left it without echo."""
    if modes is not None:
        import termios

        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(sys.stdout.fileno(), termios.TCSADRAIN, modes)


def _pager() -> str:
    """Return the command of the pager; empty if there is none."""
    for name in ("PELLUCID_PAGER", "PAGER"):
        if name in os.environ:
            command = os.environ[name].strip()
            words = command.split()
            is_there = bool(words) and shutil.which(words[0]) is not None
            return command if is_there and command != "cat" else ""
    return "less" if shutil.which("less") else ""


@contextlib.contextmanager
def interrupts_kept() -> Iterator[None]:
    """Let Ctrl-C reach this thread alone, and none of those that are started inside.

    A system call is interrupted in the thread that gets the signal: if that is another one, this
    one goes on waiting for its reader.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave(status: int) -> None:
    """End the process at once where threads of it still work; else do nothing.

    The engine cannot be interrupted, and Python would wait for it.
    """
    if threading.active_count() == 1:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none
            stream.flush()
    os._exit(status)
