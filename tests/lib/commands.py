# SPDX-License-Identifier: Apache-2.0
"""Commands that tests run, with all that they say."""

import subprocess
from typing import Any


def run(*command: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command that asks for nothing; return its exit code and what it said."""
    return subprocess.run(
        [*map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=600,
        check=False,
    )
