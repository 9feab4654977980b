# SPDX-License-Identifier: Apache-2.0
"""``debug()``: pause so that breakpoints can be set in the dumped files.

The files run by themselves (:mod:`~connection`).  What remains is to stop once, list the files, and
not prompt if there is no one to answer.
"""

from __future__ import annotations

import os
import stat
import sys
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Callable

from pellucid.dump.model.events import Frame
from pellucid.dump.store.session import INDEX

from ..taps import hooks
from .prepare import last_session

if TYPE_CHECKING:
    # Not imported at run time: programs look for `bdb` in `sys.modules` to detect a debugger.
    import bdb

Leave = Callable[[], None]
_DEBUGGER_MODULES = ("pydevd", "_pydevd_bundle", "debugpy")


class debug:  # a context manager that is used like a function
    """Pause at the start of the block, to set breakpoints in the files of the last capture.

    An attached debugger (``pdb``, ``debugpy`` or PyCharm) stops.  Otherwise ``pdb`` starts, if
    there is a terminal or if commands are waiting on standard input (``< commands.txt``).  If there
    is none of these, on ranks above 0, and with ``PYTHONBREAKPOINT=0``, the program continues.

    A debugger that was started here ends with the block, so nothing is traced after it.

    >>> with debug():  # doctest: +SKIP
    ...     model(x)
    """

    _leave: Leave | None = None

    def __enter__(self) -> debug:
        why_not = cannot_prompt()
        if why_not:
            print(f"pellucid: debug() does not pause: {why_not}", file=sys.stderr)
            return self
        print(_invitation(), file=sys.stderr, flush=True)
        self._leave = _pause(sys._getframe(1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()


def cannot_prompt() -> str:
    """Return why there can be no prompt here; empty if there can."""
    if hooks.rank() > 0:
        return f"rank {hooks.rank()} has no prompt, rank 0 has"
    if os.environ.get("PYTHONBREAKPOINT") == "0":
        return "PYTHONBREAKPOINT is 0"
    if debugger_attached() or os.environ.get("PYTHONBREAKPOINT"):
        return ""
    return "" if _terminal() or _answers_wait() else "there is no terminal and no debugger"


def _terminal() -> bool:
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:  # closed
        return False


def _answers_wait() -> bool:
    """Return true if standard input is a file or pipe with data to read."""
    try:
        number = sys.stdin.fileno()
        kind = os.fstat(number)
        if stat.S_ISREG(kind.st_mode):
            return os.lseek(number, 0, os.SEEK_CUR) < kind.st_size
        if not (stat.S_ISFIFO(kind.st_mode) or stat.S_ISSOCK(kind.st_mode)):
            return False
        import fcntl
        import termios

        waiting = fcntl.ioctl(number, termios.FIONREAD, bytes(4))
        return int.from_bytes(waiting, sys.byteorder) > 0
    except (AttributeError, ImportError, OSError, ValueError):
        # None, closed, replaced by an object that is not a file, or not a POSIX system
        return False


def debugger_attached() -> bool:
    """Return true if a debugger traces this thread; coverage tools do not count."""
    if _attached_bdb() is not None:
        return True
    trace: Any = sys.gettrace()
    module = str(getattr(trace, "__module__", None) or type(trace).__module__)
    if trace is not None and module.split(".")[0] in _DEBUGGER_MODULES:
        return True
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None


def _attached_bdb() -> bdb.Bdb | None:
    if "bdb" not in sys.modules:
        return None
    import bdb

    owner = getattr(sys.gettrace(), "__self__", None)
    if isinstance(owner, bdb.Bdb):
        return owner
    # `continue` without breakpoints makes bdb stop tracing, but a program that it started is still
    # being debugged.
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is bdb.Bdb.run.__code__:
            owner = frame.f_locals.get("self")
            return owner if isinstance(owner, bdb.Bdb) else None
        frame = frame.f_back
    return None


def _pause(frame: FrameType) -> Leave | None:
    """Stop in the user's frame, in the attached debugger if there is one.

    Returns a function that removes a debugger started here.
    """
    attached = _attached_bdb()
    if attached is not None:
        attached.set_trace(frame)
        return None
    if debugger_attached() and _pydevd_stops(frame):
        return None
    if debugger_attached():
        sys.breakpointhook()
        return None
    before = sys.gettrace()
    if os.environ.get("PYTHONBREAKPOINT"):
        sys.breakpointhook()
    else:
        import pdb

        from .scripted_pdb import ScriptedPdb

        (pdb.Pdb() if _terminal() else ScriptedPdb()).set_trace(frame)
    return lambda: _trace_no_more(before)


def _trace_no_more(before: Any) -> None:
    """Restore this thread's trace function and remove tracing tools registered since."""
    sys.settrace(before)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_trace is not None and before is None:
            frame.f_trace = None
        frame = frame.f_back
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None:
        monitoring.set_events(monitoring.DEBUGGER_ID, monitoring.events.NO_EVENTS)
        monitoring.free_tool_id(monitoring.DEBUGGER_ID)


def _pydevd_stops(frame: FrameType) -> bool:
    """Make debugpy or PyCharm stop in a frame that their `breakpoint()` would not choose."""
    settrace = getattr(sys.modules.get("pydevd"), "settrace", None)
    if settrace is None:
        return False
    try:
        settrace(
            suspend=True,
            trace_only_current_thread=True,
            patch_multiprocessing=False,
            stop_at_frame=frame,
        )
    except TypeError:  # an older pydevd without these arguments
        return False
    return True


def _invitation() -> str:
    session = last_session()
    files: list[str] = []
    if session is not None:
        names = [frame.file for frame in session.of(Frame) if frame.swapped]
        names += [graph.file for graph in session.running_graphs()]
        files = [str(session.path(name)) for name in dict.fromkeys(names)]
    if session is None or not files:
        return (
            "pellucid: no file of a capture runs yet; compile inside `with "
            "pellucid.prepare_debug(directory):` first"
        )
    return "\n".join(
        [
            "pellucid: set breakpoints (`b FILE:LINE`), then continue (`c`). These files run:",
            *(f"  {file}" for file in files),
            f"overview: {session.path(INDEX)}",
        ]
    )
