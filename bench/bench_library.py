# SPDX-License-Identifier: Apache-2.0
"""Time the native binary on the whole standard library of this Python against compile().

Both run single-threaded in one run: CPython compiles each source in this process, the binary
decompiles the code of all of them in one process of its own. Where `decompyle3` or `uncompyle6`
can be imported (Python 3.8), their times on a sample of the files that they complete are compared
as well; `pycdc` is taken from the path if it is there.

With `--counters` the work of the binary on that sample is counted: allocations by valgrind;
instructions, cycles and cache misses by perf. Where the processor does not let perf count, valgrind
gives instructions and misses of the last-level cache, whatever else the machine does.
"""

import argparse
import importlib
import io
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import MAGIC_NUMBER
from marshal import dumps
from pathlib import Path
from types import CodeType
from typing import Callable, Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parents[1]
VERSION = "{}.{}".format(*sys.version_info[:2])


def compiled(library: Path, folder: Path) -> Tuple[Dict[Path, CodeType], float]:
    """Compile what can be read below `library`, write .pyc files; return them and the time."""
    found: Dict[Path, CodeType] = {}
    spent = 0.0
    for source in sorted(library.rglob("*.py")):
        if "site-packages" in source.parts:
            continue
        try:
            text = source.read_bytes()
        except OSError:  # a link to a file that is not installed
            continue
        start = time.process_time()
        try:
            code = compile(text, str(source), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        spent += time.process_time() - start
        path = folder / f"{len(found)}.pyc"
        path.write_bytes(MAGIC_NUMBER + bytes(12) + dumps(code))
        found[path] = code
    return found, spent


# A process inherits the peak of the one that it was forked from: a small one comes in between.
_USAGE = """
import os, subprocess, sys
nothing = subprocess.DEVNULL
process = subprocess.Popen(sys.argv[1:], stdout=nothing, stderr=nothing)
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, status)
"""


def usage_of(command: List[str]) -> Tuple[float, int, int]:
    """Return the processor time of a command, its peak memory in KiB and its exit status."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _USAGE, *command], stdout=subprocess.PIPE, check=True
    )
    spent, memory, status = done.stdout.split()
    return float(spent), int(memory), int(status)


def time_of(tool: Callable[[CodeType], None], code: CodeType) -> Optional[float]:
    """Return the seconds that a tool takes, or None if it fails."""
    start = time.process_time()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            tool(code)
    except Exception:
        return None
    return time.process_time() - start


def counted(command: List[str], marks: List[Tuple[str, str]], tool: List[str]) -> Dict[str, int]:
    """Run a command under a tool; return each number that a pattern finds in what the tool says."""
    done = subprocess.run(
        [*tool, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    found = ((name, re.search(pattern, done.stderr)) for name, pattern in marks)
    return {name: int(match[1].replace(",", "")) for name, match in found if match}


def counters(command: List[str]) -> Dict[str, int]:
    """Return how much work a command is, as far as perf and valgrind are here to count it."""
    counts: Dict[str, int] = {}
    if shutil.which("perf"):
        events = {"instructions": "instructions:u", "cycles": "cycles:u"}
        events["cache misses"] = "cache-misses:u"
        marks = [(name, rf"(?m)^(\d+),[^,]*,{event},") for name, event in events.items()]
        counts = counted(command, marks, ["perf", "stat", "-x,", "-e", ",".join(events.values())])
    if not shutil.which("valgrind"):
        return counts
    if "instructions" not in counts:
        marks = [
            ("instructions", r"I +refs: +([\d,]+)"),
            ("last-level cache misses", r"LL misses: +([\d,]+)"),
        ]
        simulated = ["valgrind", "--tool=cachegrind", "--cachegrind-out-file=/dev/null"]
        counts.update(counted(command, marks, simulated))
    # The binary's allocator is its own.
    own = [
        "valgrind",
        "--tool=dhat",
        "--dhat-out-file=/dev/null",
        "--soname-synonyms=somalloc=NONE",
    ]
    counts.update(counted(command, [("allocations", r"Total: +[\d,]+ bytes in ([\d,]+)")], own))
    return counts


def print_counters(command: List[str], what: str, files: int) -> None:
    """Print what a command over so many files counts."""
    said = ", ".join(f"{count:,} {name}" for name, count in counters(command).items())
    print(f"library   {what} of {files} files: {said or 'not counted (neither perf nor valgrind)'}")


def peers() -> Dict[str, Callable[[CodeType], None]]:
    """Return the other decompilers that can be imported here."""
    found: Dict[str, Callable[[CodeType], None]] = {}
    for name in ("decompyle3", "uncompyle6"):
        try:
            module = importlib.import_module(f"{name}.main")
        except Exception as error:
            print(f"library   {name}: not measured ({type(error).__name__})")
            continue
        found[name] = lambda code, module=module: module.decompile(
            code, sys.version_info[:2], out=io.StringIO()
        )
    return found


def compare(name: str, theirs: Dict[Path, Optional[float]], binary: str) -> None:
    """Print a peer's time on the files that it completes, as a multiple of ours."""
    done = {path: spent for path, spent in theirs.items() if spent is not None}
    if not done:
        print(f"library   {name}: completed none of {len(theirs)} files")
        return
    command = [binary, "decompile", "--no-verify", "--jobs", "1", *(str(path) for path in done)]
    ours = min(usage_of(command)[0] for _ in range(3))
    print(
        f"library   {name}: {sum(done.values()) / max(ours, 1e-6):.1f} times our time on the "
        f"{len(done)} of {len(theirs)} files that it completes"
    )


def main() -> int:
    """Print the ratios; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / "build" / "make" / "pellucid"))
    parser.add_argument("--sample", type=int, default=40, help="files for the other decompilers")
    parser.add_argument(
        "--counters", action="store_true", help="count instructions, misses and allocations"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    library = Path(sysconfig.get_paths()["stdlib"])
    with tempfile.TemporaryDirectory() as name:
        codes, compiling = compiled(library, Path(name))
        files = [str(path) for path in codes]
        command = [arguments.binary, "decompile", "--no-verify", "--jobs", "1"]
        ours, memory, _ = usage_of([*command, *files])
        verified, more_memory, _ = usage_of([*command, "--verify", *files])
        print(f"library   {len(files)} files of {VERSION}: compile() {compiling:.2f} s")
        for what, spent, peak in (
            ("decompile --no-verify", ours, memory),
            ("decompile", verified, more_memory),
        ):
            print(
                f"library   {what} {spent:.2f} s: {spent / compiling:.2f} of it; "
                f"peak {peak / 1024:.0f} MiB"
            )
        chosen = random.Random(1).sample(sorted(codes), min(arguments.sample, len(codes)))
        if arguments.counters:
            sample = [str(path) for path in chosen]
            print_counters([*command, *sample], "decompile --no-verify", len(sample))
            print_counters([*command, "--verify", *sample], "decompile", len(sample))
        for peer, tool in peers().items():
            compare(peer, {path: time_of(tool, codes[path]) for path in chosen}, arguments.binary)
        pycdc = shutil.which("pycdc")
        if pycdc is None:
            print("library   pycdc: not measured (no such program)")
        else:
            spent: Dict[Path, Optional[float]] = {}
            for path in chosen:
                used, _, status = usage_of([pycdc, str(path)])
                spent[path] = used if status == 0 else None
            compare("pycdc", spent, arguments.binary)
    in_time = ours <= compiling and verified <= 3 * compiling
    return 0 if in_time and max(memory, more_memory) <= 200 * 1024 else 1


if __name__ == "__main__":
    sys.exit(main())
