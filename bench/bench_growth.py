"""Fit how time and memory of the native binary grow with the program, construct by construct.

For each family of `growth_programs` and each size, with `--verify` and without, the time is the
least of several runs less that of an empty module; the memory is the peak of a process of its own.
An exponent is the slope of the least-squares line through the logarithms of the larger sizes. The
bar is 1.1.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from growth_programs import FAMILIES, compile_sources

ROOT = Path(__file__).resolve().parents[1]
BAR = 1.1
FLOOR_KIB = 1024  # what is smaller than this says nothing about growth


def seconds(command: Sequence[str]) -> float:
    """Return the processor time that a command takes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


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


def main() -> int:
    """Print a line a family; return 1 if one grows faster than the bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", help="names of families; default: all of them")
    parser.add_argument("--binary", default=str(ROOT / "build" / "make" / "pellucid"))
    parser.add_argument("--python", default=sys.executable, help="the interpreter that compiles")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    asked = [arguments.python, "-c", "import sys; print(sys.version_info[1])"]
    minor = int(subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout)
    over: List[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        empty = folder / "empty.pyc"
        compile_sources(arguments.python, {empty: ""})
        # One job: a second one would not wait behind the first file for its memory to be read.
        plain = [arguments.binary, "decompile", "--jobs", "1"]
        base = peak(plain, str(empty), folder)
        for family in arguments.families or FAMILIES:
            if FAMILIES[family].since > minor:
                continue
            wanted = {
                folder / f"{family}.{n}.pyc": FAMILIES[family].source(n)
                for n in FAMILIES[family].sizes
            }
            paths = compile_sources(arguments.python, wanted)
            for command in (plain, [*plain, "--verify"]):
                times, sizes = [], []
                for path in paths:
                    n = int(path.name.split(".")[-2])
                    times.append((n, measure(command, str(path), str(empty), arguments.runs)))
                    used = peak(command, str(path), folder)
                    if used is not None and base is not None and used - base >= FLOOR_KIB:
                        sizes.append((n, used - base))
                if len(times) < 2:
                    continue
                grows = slope(times[-3:])
                fills = slope(sizes[-3:]) if len(sizes) > 1 else float("nan")
                name = family if command is plain else f"{family} verified"
                if grows > BAR or fills > BAR:
                    over.append(name)
                spent = " ".join(f"{n}:{t * 1e3:.2f}" for n, t in times)
                print(f"{name:24} time n^{grows:.2f}  memory n^{fills:.2f}  ms {spent}", flush=True)
            for path in paths:
                path.unlink()
    print(f"growth    {len(over)} of the families above n^{BAR}: {', '.join(over) or 'none'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
