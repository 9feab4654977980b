# SPDX-License-Identifier: Apache-2.0
"""Work in a fork, which may crash or take too long."""

import json
import os
import signal
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional

Record = Dict[str, Any]


class Outcome(NamedTuple):
    """What came of it."""

    record: Optional[Record]
    """The last record; None where there was none."""
    error: str
    """The exception that ended it; empty where there was none."""
    killed: str
    """The signal that ended it, in words; empty where there was none."""


def in_process(work: Callable[[], Iterable[Record]], timeout: int, keep: bool = False) -> Outcome:
    """Do work in a fork, for a limited time.

    Args:
        work: returns or yields records, each fuller than the last, so that work which does not end
            has said how far it came.
        timeout: seconds.
        keep: leave its output connected; unless it is, nothing that it prints is seen.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        if not keep:
            null = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
        with os.fdopen(writer, "w") as stream:
            try:
                for record in work():
                    stream.write(json.dumps({"record": record}) + "\n")
                    stream.flush()
            except BaseException as error:
                told = f"{type(error).__name__}: {error}"[:300]
                stream.write(json.dumps({"error": told}) + "\n")
        os._exit(0)
    os.close(writer)
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(timeout)
    with os.fdopen(reader) as stream:
        lines = [json.loads(line) for line in stream.read().splitlines()]
    state = os.waitpid(child, 0)[1]
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    records = [line["record"] for line in lines if "record" in line]
    errors = [line["error"] for line in lines if "error" in line]
    killed = ""
    if os.WIFSIGNALED(state):
        killed = f"signal {os.WTERMSIG(state)}, or more than {timeout} s"
    return Outcome(records[-1] if records else None, "".join(errors), killed)
