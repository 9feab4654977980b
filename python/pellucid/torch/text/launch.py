# SPDX-License-Identifier: Apache-2.0
"""``launch.json``: VS Code configurations that restart the captured program or attach to it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

LAUNCH = "launch.json"
_PORT = 5678
"""debugpy's default port, according to its documentation."""


def launch_text(name: str, target: dict[str, Any] | None, dump: str = "") -> str:
    """Return the text of ``launch.json``.

    Args:
        name: the name of the program.
        target: ``program`` or ``module``, with ``args``, ``cwd`` and ``python``; None if a debugger
            cannot start the program on its own, such as one rank of several.
        dump: the directory to capture into; empty if the program sets it itself.

    >>> told = json.loads(launch_text("train.py", {"program": "/home/me/train.py"}, "/tmp/dump"))
    >>> [each["request"] for each in told["configurations"]]
    ['launch', 'attach']
    """
    # The dumped files are outside the program's folder, and compiler processes are not worth
    # debugging.
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
    """Return this process's program: its name, and how to restart it (None if unknown).

    Args:
        file: the program's file, which is no longer known when Python exits.
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
