# SPDX-License-Identifier: Apache-2.0
"""``pellucid run``: capture an unmodified script or module and all processes that it starts.

This process becomes ``python script`` with ``PELLUCID_DUMP`` set, so the script runs exactly as
under Python, down to the last frame of a stack that torch prints.

If pellucid is not installed but only on the path, Python does not read that variable at startup.
The script then runs under ``prepare_debug`` in this process, in the environment it expects:
``sys.argv``, ``sys.path``, and itself as ``__main__`` until the process ends.  Tracebacks show only
the script's frames, and its exit code becomes ours.
"""

from __future__ import annotations

import os
import runpy
import site
import subprocess
import sys
import time
from types import TracebackType
from typing import NoReturn

from pellucid.process import environment, named_for_python, run_file

_INTERRUPTED = 130  # the exit code that shells use for a process killed by SIGINT


def run(target: str, arguments: list[str], directory: str, is_module: bool) -> int:
    """Run a script (or a folder or zip with a ``__main__.py``) or a module; return the exit code.

    Args:
        target: the path of the script, or the name of the module.
        arguments: its ``sys.argv[1:]``.
        directory: the directory of the capture.
        is_module: whether ``target`` names a module, as after ``python -m``.

    Raises:
        SystemExit: if the script raises it.
    """
    directory = os.path.abspath(directory)
    if is_installed():
        _become(target, arguments, directory, is_module)
    # Imported here because a process replaced by _become() does not need them.
    from pellucid.report.ending import tell_end

    from .automatic import why_nothing
    from .prepare import prepare_debug, wants_calls

    sys.argv = [target, *arguments]
    process, start = os.getpid(), time.time_ns()
    try:
        with prepare_debug(directory, calls=wants_calls()) as session:
            session.warns_when_empty = False  # tell_end() says it
            named = ("-m", target) if is_module else (os.path.abspath(target),)
            session.command = (*named, *arguments)
            if is_module:
                sys.path[0] = os.getcwd()
                runpy.run_module(target, run_name="__main__", alter_sys=True)
            elif os.path.isfile(target) and not _is_zip(target):
                sys.path[0] = os.path.dirname(os.path.abspath(target))
                run_file(target)
            else:
                del sys.path[0]  # runpy puts the folder or zip there
                runpy.run_path(target, run_name="__main__")
    except SystemExit:
        raise
    except BaseException as error:
        _show(error)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        if os.getpid() == process:  # not in processes that the script forked
            tell_end(directory, start, why_nothing())
    return 0


def is_installed() -> bool:
    """Return true if Python reads ``pellucid.pth`` at startup."""
    folders = list(site.getsitepackages())
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    found = any(os.path.isfile(os.path.join(folder, "pellucid.pth")) for folder in folders)
    return found and not sys.flags.no_site and bool(sys.executable) and os.name == "posix"


def _become(target: str, arguments: list[str], directory: str, is_module: bool) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os.environ.update(environment(directory))
    how = ["-m"] if is_module else []
    os.execv(sys.executable, [sys.executable, *_options(), *how, target, *arguments])


def _options() -> list[str]:
    """Return the command-line options of this Python."""
    if not hasattr(sys, "orig_argv"):  # before 3.10
        return list(subprocess._args_from_interpreter_flags())  # type: ignore[attr-defined]
    return named_for_python()[0]


def _is_zip(path: str) -> bool:
    with open(path, "rb") as stream:
        return stream.read(4) == b"PK\x03\x04"


def _show(error: BaseException) -> None:
    """Print a traceback as Python would, without the frames that ran the script."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    if trace is None and isinstance(error, ImportError):  # runpy found nothing to run
        print(f"pellucid: {error}", file=sys.stderr)
        return
    if trace is None and not isinstance(error, SyntaxError):
        trace = error.__traceback__
    sys.last_value = error  # as Python does
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _is_ours(trace: TracebackType) -> bool:
    ours = (__file__, run_file.__code__.co_filename)
    return trace.tb_frame.f_code.co_filename in (*ours, runpy.__file__, "<frozen runpy>")
