"""Captures that are killed at random moments; run by test_processes.py.

`python killed.py DIRECTORY TIMES`. Each time a fork captures compiles without end, and is killed.
After each, a line of JSON says what is on the disk then.
"""

import gzip
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
from job import compute
from pellucid import prepare_debug

torch.set_num_threads(1)


def work(directory):
    for number in range(10**6):
        with prepare_debug(directory):
            compute(2 * number % 50)
            compute((2 * number + 1) % 50)
        torch._dynamo.reset()


def broken(path):
    try:
        if path.suffix == ".gz":
            return "" if json.loads(gzip.decompress(path.read_bytes())) else f"{path.name}: empty"
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            compile(text, str(path), "exec", dont_inherit=True)
        elif path.suffix == ".json":
            json.loads(text)
    except (SyntaxError, ValueError, OSError, EOFError) as error:
        return f"{path.name}: {error}"
    return "" if text.endswith("\n") else f"{path.name}: has no end"


def main(directory, times):
    compute(0)  # what is slow the first time is done before the clock runs
    chance = random.Random(0)
    for _ in range(times):
        child = os.fork()
        if not child:
            work(directory)
        wait = chance.uniform(0.0, 1.0)
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = [p for p in Path(directory).rglob("*") if p.is_file()]
        dumped = [p for p in found if not p.name.startswith(".pellucid-")]
        litter = len(found) - len(dumped)
        bad = [complaint for complaint in map(broken, dumped) if complaint]
        print(json.dumps({"after": wait, "files": len(dumped), "litter": litter, "bad": bad}))
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
