"""Runs programs, each in a process of its own, and says what they print and how they end.

    python3.N run_apart.py FILE... > outcomes.json

A `.pyc` is run as it is, any other file as source. What does not compile ends with that.
"""

import io
import json
import marshal
import os
import signal
import sys
import types
from typing import Any, List

LONGEST = 20  # seconds


def run(path: str) -> None:
    """Run the program in this process, and end it."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        is_code = path.endswith(".pyc")
        code = marshal.loads(data[16:]) if is_code else compile(data, "program.py", "exec")
    except (SyntaxError, ValueError):
        os._exit(99)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    status = 0
    try:
        exec(code, module.__dict__)
    except BaseException:
        status = 1
    sys.stdout.flush()
    os._exit(status)


def outcome(path: str) -> List[Any]:
    """What it prints, and its status."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream, to in ((0, nothing), (1, writes), (2, nothing)):
            os.dup2(to, stream)
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding="utf-8")
        signal.alarm(LONGEST)
        run(path)
    os.close(writes)
    with os.fdopen(reads, "rb") as stream:
        printed = stream.read()
    return [printed.decode("utf-8", "replace"), os.waitpid(child, 0)[1]]


json.dump({path: outcome(path) for path in sys.argv[1:]}, sys.stdout)
