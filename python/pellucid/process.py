# SPDX-License-Identifier: Apache-2.0
"""How this process was started, how it ends, and how its program is run."""

import builtins
import contextlib
import io
import os
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import List, Optional

DUMP = "PELLUCID_DUMP"
RUN = "PELLUCID_RUN"
PROGRESS = "PELLUCID_PROGRESS"
STARTED = "PELLUCID_STARTED"
TRIAL = "PELLUCID_TRIAL"


def environment(directory: str) -> "dict[str, str]":
    """Return the variables with which this process is to become the program of ``pellucid run``."""
    return {DUMP: os.path.abspath(directory), RUN: f"asked {os.getpid()}"}


def launched() -> "tuple[tuple[str, ...], str]":
    """Return the command of the first process of the run, and its working directory.

    Both are empty if they are not known, or if the job also runs on other machines.
    """
    import json

    size = os.environ.get("WORLD_SIZE", "1")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        found = json.loads(os.environ.get(STARTED, ""))
        if found["command"] and os.environ.get("LOCAL_WORLD_SIZE", size) == size:
            return tuple(map(str, found["command"])), str(found["folder"])
    return (), ""


_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")


def named_for_python() -> "tuple[list[str], list[str]]":
    """Return Python's own options in this process, and the script (or ``-m`` and the module).

    The arguments follow the script. `sys.argv` does not exist before the program starts. Both lists
    are empty before Python 3.10, and the second one is empty for ``-c``.
    """
    options: List[str] = []
    given = list(getattr(sys, "orig_argv", ()))[1:]
    while given and given[0].startswith("-"):
        option = given.pop(0)
        if option[:2] in ("-X", "-W", "--"):
            options += [option, *([given.pop(0)] if option in _WITH_VALUE else [])]
        elif option[-1] in "mc":
            options += [option[:-1]] if len(option) > 2 else []
            return options, ["-m", *given] if option[-1] == "m" else []
        elif "m" in option or "c" in option:  # what it names is joined to it
            return options, []
        else:
            options.append(option)
    return options, [os.path.abspath(given[0]), *given[1:]] if given else []


def started(run: str) -> int:
    """Return when a run began, as `time.time_ns` has it; 0 if that is not known."""
    _, _, nanoseconds = run.partition("-")
    return int(nanoseconds) if nanoseconds.isdigit() else 0


def ending_error() -> "Optional[BaseException]":
    """Return the exception that ends this process, if Python has printed one."""
    error: Optional[BaseException] = getattr(sys, "last_value", None)
    return error


def run_file(path: str) -> None:
    """Run a script as Python does.

    Not with runpy: it discards `__main__` after the script's last line, but threads, atexit and the
    pickling of the script's classes need it until the end.
    """
    whole = os.path.abspath(path)
    path = whole if sys.version_info >= (3, 9) else path  # as Python names it
    module = ModuleType("__main__")
    module.__dict__.update(
        __file__=path,
        __builtins__=builtins,
        __cached__=None,
        __spec__=None,
        __loader__=SourceFileLoader("__main__", path),
    )
    with io.open_code(whole) as stream:
        source = stream.read()
    sys.modules["__main__"] = module
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
