# SPDX-License-Identifier: Apache-2.0
"""Fit how time and memory of the native binary grow with the program, construct by construct.

For each family of `growth_programs` and each size, with `--verify` and without, the time is the
least of several runs less that of an empty module; the memory is the peak of a process of its own.
An exponent is the slope of the least-squares line through the logarithms of the larger sizes. The
bar is 1.1, and 1.05 for instructions. Beside it stands how the time of CPython's own `compile()`
grows over the same sources: what no longer fits the processor's caches takes longer by the part,
whoever walks over it.

With `--instructions` valgrind counts the instructions of the three largest sizes in place of the
time: slower, and the same on a machine that has other work to do. `--most 1000000` continues to a
million statements, for which CPython needs some gigabytes.
"""

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from growth_programs import FAMILIES, compile_sources

ROOT = Path(__file__).resolve().parents[1]
BAR = 1.1
BAR_OF_INSTRUCTIONS = 1.05
FLOOR_KIB = 1024  # what is smaller than this says nothing about growth


def seconds(command: Sequence[str]) -> float:
    """Return the processor time that a command takes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def instructions(command: Sequence[str]) -> int:
    """Return how many instructions a command takes."""
    valgrind = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
    ]
    done = subprocess.run(
        [*valgrind, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if found is None:
        raise ValueError(f"valgrind counts nothing: {done.stderr[-200:]}")
    return int(found[1].replace(",", ""))


def peak(command: Sequence[str], path: str, folder: Path) -> Optional[int]:
    """Return the peak memory in KiB, or None where the system does not say.

    The binary is given two pipes behind the file: once it has come to the first it waits at the
    second, and its peak can be read meanwhile. (What wait4 reports includes the parent's.)
    """
    if not Path("/proc/self/status").exists():
        return None
    pipes = [folder / "first", folder / "second"]
    for pipe in pipes:
        if not pipe.exists():
            os.mkfifo(pipe)
    process = subprocess.Popen(
        [*command, path, *map(str, pipes)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def pass_by(pipe: Path) -> bool:
        while process.poll() is None:
            try:
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                return True
            except OSError:
                time.sleep(0.001)
        return False

    if not pass_by(pipes[0]):
        return None
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    pass_by(pipes[1])
    process.wait()
    found = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
    return found[0] if found else None


def slope(points: Sequence[Tuple[float, float]]) -> float:
    """Return the slope of the line that fits the logarithms best."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    middle_x = sum(x for x, _ in logs) / len(logs)
    middle_y = sum(y for _, y in logs) / len(logs)
    across = sum((x - middle_x) ** 2 for x, _ in logs)
    return sum((x - middle_x) * (y - middle_y) for x, y in logs) / across if across else 0.0


def measure(command: Sequence[str], path: str, empty: str, runs: int) -> float:
    """Return the seconds for one file; small ones are given many times over to one process."""
    first = seconds([*command, path])
    copies = max(1, min(200, int(0.05 / max(first, 0.001))))
    least = min(seconds([*command, *[path] * copies]) for _ in range(runs))
    return max((least - seconds([*command, empty])) / copies, 1e-7)


def compile_seconds(python: str, source: str, folder: Path, runs: int) -> float:
    """Return the least processor time that `compile()` takes for a source."""
    path = folder / "compiled.py"
    path.write_text(source, encoding="utf-8")
    script = (
        "import sys, time\n"
        "source, best = open(sys.argv[1], encoding='utf-8').read(), []\n"
        "for _ in range(int(sys.argv[2])):\n"
        "    before = time.process_time()\n"
        "    compile(source, 'compiled', 'exec')\n"
        "    best.append(time.process_time() - before)\n"
        "print(min(best))\n"
    )
    return float(subprocess.check_output([python, "-c", script, str(path), str(runs)]))


class Cost:
    """What a file costs, less what an empty one does: seconds, or instructions."""

    def __init__(self, command: Sequence[str], empty: str, runs: int, counts: bool) -> None:
        self._command, self._empty, self._runs = command, empty, runs
        self._base = instructions([*command, empty]) if counts else None

    def of(self, path: str) -> float:
        if self._base is None:
            return measure(self._command, path, self._empty, self._runs)
        return float(max(instructions([*self._command, path]) - self._base, 1))


def main() -> int:
    """Print a line a family; return 1 if one grows faster than the bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", help="names of families; default: all of them")
    parser.add_argument("--binary", default=str(ROOT / "build" / "make" / "pellucid"))
    parser.add_argument("--python", default=sys.executable, help="the interpreter that compiles")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--instructions", action="store_true", help="count them, with valgrind")
    parser.add_argument("--most", type=int, default=100000, help="leave out larger sizes")
    arguments = parser.parse_args()
    counts = arguments.instructions
    if counts and shutil.which("valgrind") is None:
        print("growth    skipped: no valgrind to count instructions with")
        return 0
    bar = BAR_OF_INSTRUCTIONS if counts else BAR
    kind, unit, scale = ("instructions", "M", 1e-6) if counts else ("time", "ms", 1e3)
    asked = [arguments.python, "-c", "import sys; print(sys.version_info[1])"]
    minor = int(subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout)
    over: List[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        empty = folder / "empty.pyc"
        compile_sources(arguments.python, {empty: ""})
        # One job: a second one would not wait after the first file for its memory to be read.
        plain = [arguments.binary, "decompile", "--no-verify", "--jobs", "1"]
        base = peak(plain, str(empty), folder)
        costs = [
            (command, Cost(command, str(empty), arguments.runs, counts))
            for command in (plain, [*plain, "--verify"])
        ]
        for family in arguments.families or FAMILIES:
            if FAMILIES[family].since > minor:
                continue
            sizes = [n for n in FAMILIES[family].sizes if n <= arguments.most]
            source = FAMILIES[family].source
            wanted = {folder / f"{family}.{n}.pyc": source(n) for n in sizes[-3 if counts else 0 :]}
            paths = compile_sources(arguments.python, wanted)
            beside = ""
            if not counts:
                compiled = [
                    (n, compile_seconds(arguments.python, source(n), folder, arguments.runs))
                    for n in sizes[-3:]
                ]
                beside = f"  compile() n^{slope(compiled):.2f}"
            for command, cost in costs:
                times, memory = [], []
                for path in paths:
                    n = int(path.name.split(".")[-2])
                    times.append((n, cost.of(str(path))))
                    used = peak(command, str(path), folder)
                    if used is not None and base is not None and used - base >= FLOOR_KIB:
                        memory.append((n, used - base))
                if len(times) < 2:
                    continue
                grows = slope(times[-3:])
                fills = slope(memory[-3:]) if len(memory) > 1 else float("nan")
                name = family if command is plain else f"{family} verified"
                if grows > bar or fills > BAR:
                    over.append(name)
                spent = " ".join(f"{n}:{t * scale:.2f}" for n, t in times)
                line = f"{name:24} {kind} n^{grows:.2f}  memory n^{fills:.2f}  {unit} {spent}"
                print(line + beside, flush=True)
                beside = ""
            for path in paths:
                path.unlink()
    print(f"growth    {len(over)} of the families above n^{bar}: {', '.join(over) or 'none'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
