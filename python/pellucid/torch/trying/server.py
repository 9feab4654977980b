# SPDX-License-Identifier: Apache-2.0
"""A process that imports torch once and is forked for each run of a program.

The server reads the path of one order (:mod:`.child`) per line. It answers with the id of the
process that runs the order, and then with the exit code of that process. If forking is not safe,
the server runs one order itself and exits.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Mapping

_OF_ALL = (
    "torch._dynamo",
    "torch._inductor.config",
    "torch._functorch.aot_autograd",
    "pellucid.torch.api.prepare",
)
"""Modules that every run needs; `torch.compile` imports the third when it looks up a backend."""
_SERVE = "from pellucid.torch.trying.server import serve; serve()"


class Server:
    """The caller's side. The process starts with the first order, and again after it has exited.

    Args:
        env: the environment of the process.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._process: subprocess.Popen[str] | None = None

    def run(self, order: Path, seconds: float) -> int:
        """Run an order and return the exit code of its process.

        Raises:
            TimeoutError: the process did not exit in time and was killed.
        """
        server = self._process = self._process or self._start(order)
        assert server.stdin is not None and server.stdout is not None
        running = [server.pid]
        late = threading.Event()

        def stop() -> None:
            late.set()
            _kill(running[-1])

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                server.stdin.write(f"{order}\n")
            running += [int(number) for number in server.stdout.readline().split()]
            status = int(server.stdout.readline() or server.wait())
        except BaseException:
            _kill(running[-1])
            self.end()
            raise
        finally:
            timer.cancel()
        if server.poll() is not None:
            self.end()
        if late.is_set():
            _kill(running[-1])
            raise TimeoutError
        return status

    def end(self) -> None:
        """Kill the process."""
        if self._process is not None:
            if self._process.poll() is None:
                _kill(self._process.pid)
            self._process.communicate()
        self._process = None

    def _start(self, order: Path) -> subprocess.Popen[str]:
        with open(str(order.with_name("stderr")), "ab") as stderr:
            return subprocess.Popen(
                [sys.executable, "-c", _SERVE],
                cwd=str(order.parent),
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                bufsize=1,
                start_new_session=True,
            )


def _kill(number: int) -> None:
    """Kill a process and those that it started."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(number, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(number, getattr(signal, "SIGKILL", signal.SIGTERM))


def serve() -> None:
    """Read orders and run each in a separate process, until there are no more."""
    from .child import main

    for name in _OF_ALL:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    forks = _can_fork()
    while True:
        order = Path(sys.stdin.readline().rstrip("\n"))
        if not order.name:
            return
        number = os.fork() if forks else 0
        if not number:
            break
        print(number, flush=True)
        ended = os.waitpid(number, 0)[1]
        print(-os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else os.WEXITSTATUS(ended), flush=True)
    if forks:
        os.setsid()
    else:
        print(os.getpid(), flush=True)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    for stream, name in ((1, "stdout"), (2, "stderr")):
        with open(str(order.with_name(name)), "ab") as file:
            os.dup2(file.fileno(), stream)
    main(order)


def _can_fork() -> bool:
    """Return true if a program can run in a fork: on Linux, before torch has initialized a GPU."""
    import torch

    if sys.platform != "linux":
        return False
    number = os.fork()
    if not number:
        os._exit(torch.cuda._is_in_bad_fork())
    return os.waitpid(number, 0)[1] == 0
