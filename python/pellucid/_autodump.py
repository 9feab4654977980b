# SPDX-License-Identifier: Apache-2.0
"""``PELLUCID_DUMP``: a capture in each Python process that has it in its environment.

``pellucid.pth`` (from 3.15 on ``pellucid.start``) starts this at the start of Python where the
variable is set, or ``PELLUCID_PROGRESS``, and nothing where neither is.  Nothing of torch is
imported: what is waited for is that the program itself has imported torch's compiler, and what a
capture needs is loaded then.

The processes that this one starts inherit three variables: ``PELLUCID_DUMP``, made
absolute, ``PELLUCID_RUN``: the run, and the rank and the number of the process that the directory
is for, and ``PELLUCID_STARTED``: how the first process of the run was started.
"""

import atexit
import contextlib
import os
import sys
import time
from importlib.machinery import ModuleSpec
from typing import Any, List, NamedTuple, Optional

from pellucid.process import (
    DUMP,
    PROGRESS,
    RUN,
    STARTED,
    TRIAL,
    ending_error,
    named_for_python,
    started,
)

_COMPILER = "torch._dynamo"


class Origin(NamedTuple):
    """What a process was told when it started."""

    directory: str
    """Empty where only progress is to be shown (``PELLUCID_PROGRESS``)."""
    run: str
    """The run that this process belongs to: unlike any other."""
    process: int
    """The process that was told; another number means a fork of it."""
    first: bool
    """Whether the directory, or that of the rank below it, is for this process."""
    asked: bool
    """Whether this is the program of ``pellucid run``, which wants to hear how it went."""


def _origin() -> Origin:
    if not os.environ.get(DUMP):
        return Origin("", "", os.getpid(), False, False)
    directory, process = os.path.abspath(os.environ[DUMP]), os.getpid()
    given, rank = os.environ.get(RUN, ""), os.environ.get("RANK", "")
    asked = given == f"asked {process}"
    if given.startswith("asked "):
        given = ""
    run, known, first = [*given.split("/"), "", ""][:3]
    is_first = not run or known != rank or first == str(process)  # the last: it became another
    if not run:
        import json

        os.environ[STARTED] = json.dumps(
            {"command": [] if rank else named_for_python()[1], "folder": os.getcwd()}
        )
    run = run or f"{process}-{time.time_ns()}"
    os.environ[DUMP] = directory
    os.environ[RUN] = f"{run}/{rank}/{process if is_first else first}"
    return Origin(directory, run, process, is_first, asked)


class _Telling(ModuleSpec):
    """The spec of a module that is to be told of once it has been imported.

    The import system takes the note `_initializing` off a spec when all is done.  So no loader is
    wrapped, and no frame of ours is in a traceback of an import that fails.
    """

    @property
    def _initializing(self) -> bool:
        return bool(self.__dict__.get("_initializing"))

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        self.__dict__["_initializing"] = value
        if not value:
            self.__class__ = ModuleSpec  # type: ignore[assignment]
            if self.name in sys.modules and not _wait_for_parent():
                _begin()


def _wait_for_parent() -> bool:
    """Whether torch itself imports its compiler, and so is not there yet: then it is to tell."""
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    if not getattr(spec, "_initializing", False) or type(spec) is not ModuleSpec:
        return False
    spec.__class__ = _Telling
    return True


class _Finder:
    """Finds one module as all others would, and lets its spec tell."""

    def find_spec(
        self, name: str, path: Optional[Any] = None, target: Optional[Any] = None
    ) -> Optional[ModuleSpec]:
        """Return the spec that the later finders have for the awaited module."""
        # A trial changes `torch.compile`, which is called before the compiler is imported.
        if name != ("torch" if _followers else _COMPILER):
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if type(spec) is ModuleSpec:
                    spec.__class__ = _Telling
                return spec
        return None


_finder = _Finder()
_origins: List[Origin] = []
_begun: List[Origin] = []
_followers: List[Any] = []


def start() -> None:
    """Wait for the program to import torch's compiler; capture from then on until the end."""
    shows = os.environ.get(PROGRESS, "") not in ("", "0")
    if not _origins and (shows or os.environ.get(DUMP)):
        _origins.append(_origin())
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
        atexit.register(_end)
        if os.environ.get(TRIAL):
            from pellucid.torch.trying import follow

            if follow.takes_part():
                _followers.append(follow.Follower(os.environ[TRIAL]))
                _followers[0].start()


def _begin() -> None:
    if _begun:
        return
    _begun.extend(_origins)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)  # type: ignore[arg-type]
    try:
        from pellucid.torch.api import automatic

        automatic.begin(_origins[0])
        for follower in _followers:
            follower.before_compiling()
    except Exception as error:
        _complain(error)


def _end() -> None:
    """Close what is open when the process ends, after all that the program does then."""
    origin = _origins[0]
    try:
        if _begun:
            from pellucid.torch.api import automatic

            for follower in _followers:
                follower.end()
            automatic.end(origin)
        elif origin.asked and os.getpid() == origin.process:
            # Nothing that imports torch: that fails while Python ends.
            from pellucid.report import ending

            why = ending.NO_CALL_OF_COMPILE if "torch" in sys.modules else ending.NO_TORCH
            said = ending.nothing_compiled(why, ending_error())
            ending.tell_end(origin.directory, started(origin.run), said)
    except Exception as error:
        _complain(error)
    finally:
        _keep_interrupt()


def _keep_interrupt() -> None:
    """Let Python end by SIGINT after an uncaught KeyboardInterrupt, as it would without us.

    Python keeps that in a flag that any `exec` resets, and an `exec` that is interrupted sets.
    """
    # A module that `-m` names is run in a way that does not set the flag.
    main = sys.modules.get("__main__")
    if isinstance(ending_error(), KeyboardInterrupt) and getattr(main, "__spec__", None) is None:
        with contextlib.suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")


def _complain(error: BaseException) -> None:
    """Say that the capture that was asked for is not to be had; nothing else is said."""
    if sys.stderr is not None:
        variable = DUMP if os.environ.get(DUMP) else PROGRESS
        print(f"pellucid: {variable}: {type(error).__name__}: {error}", file=sys.stderr)
