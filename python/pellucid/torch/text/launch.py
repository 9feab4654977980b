# SPDX-License-Identifier: Apache-2.0
"""``launch.json``: how VS Code starts the captured program again, or attaches to it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

LAUNCH = "launch.json"
_PORT = 5678
"""Where debugpy listens, by its own documentation."""


def launch_text(name: str, target: dict[str, Any] | None, dump: str = "") -> str:
    """Return the text of ``launch.json``.

    Args:
        name: what the program is called.
        target: ``program`` or ``module``, with ``args``, ``cwd`` and ``python``; None where a
            debugger cannot start the program by itself, as one rank of several.
        dump: the directory that the program is to be captured into; empty where it says so itself.

    >>> told = json.loads(launch_text("train.py", {"program": "/home/me/train.py"}, "/tmp/dump"))
    >>> [each["request"] for each in told["configurations"]]
    ['launch', 'attach']
    """
    # The files of the dump are no part of the program's folder, and compilers are no subprocesses
    # that anybody wants to step through.
    shared = {"type": "debugpy", "justMyCode": False, "subProcess": False}
    configurations = []
    if target is not None:
        env = {"TORCHINDUCTOR_COMPILE_THREADS": "1", **({"PELLUCID_DUMP": dump} if dump else {})}
        start = {"name": f"pellucid: run {name}", "request": "launch", **shared, **target}
        configurations.append({**start, "console": "integratedTerminal", "env": env})
    configurations.append(
        {
            "name": "pellucid: attach to a program that waits in debugpy",
            "request": "attach",
            **shared,
            "connect": {"host": "127.0.0.1", "port": _PORT},
        }
    )
    return json.dumps({"version": "0.2.0", "configurations": configurations}, indent=2) + "\n"


def target_of(file: str) -> tuple[str, dict[str, Any] | None]:
    """Return what this process runs: its name, and how to start it again (None: nobody knows).

    Args:
        file: the program's, as the capture found it. When Python ends it is no longer known.
    """
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    how = {"args": sys.argv[1:], "cwd": os.getcwd(), "python": sys.executable}
    module = getattr(spec, "name", None)
    if module:  # `python -m package` runs package.__main__
        module = module[: -len(".__main__")] if module.endswith(".__main__") else module
        return module, {"module": module, **how}
    if os.path.isfile(file):
        return os.path.basename(file), {"program": os.path.abspath(file), **how}
    return "", None
