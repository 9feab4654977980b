# SPDX-License-Identifier: Apache-2.0
"""Time the native binary on the whole standard library of this Python against compile().

All run single-threaded in one run: CPython compiles each source in this process, the binary
decompiles the code of all of them in one process of its own. Each is run three times, in turn, and
the least processor time counts. `--against BINARY` measures another binary beside it: a build from
before a change. Threads are measured by the time that passes, which says something on an idle
machine only. The exit code is 1 if a bar is missed. `--python 3.11 3.13` does the same under each
of these interpreters.

Where `decompyle3` or `uncompyle6` can be imported (Python 3.8), their times on a sample of the
files that they complete are compared as well. If `pycdc` is on the path, it and the binary are
started once for each file.

With `--counters` the work of the binary on that sample is counted: allocations by valgrind;
instructions, cycles and cache misses by perf. Where the processor does not let perf count, valgrind
gives instructions and misses of the last-level cache, whatever else the machine does.
"""

import argparse
import importlib
import io
import json
import os
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
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[1]
VERSION = "{}.{}".format(*sys.version_info[:2])


def sources_of(library: Path) -> Dict[Path, bytes]:
    """Return the sources below `library` that can be read and compiled."""
    found: Dict[Path, bytes] = {}
    for source in sorted(library.rglob("*.py")):
        if "site-packages" in source.parts:
            continue
        try:
            text = source.read_bytes()
        except OSError:  # a link to a file that is not installed
            continue
        try:
            compile(text, str(source), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        found[source] = text
    return found


def seconds_to_compile(sources: Dict[Path, bytes]) -> float:
    """Return the processor time that compile() takes for all."""
    start = time.process_time()
    for source, text in sources.items():
        compile(text, str(source), "exec", dont_inherit=True)
    return time.process_time() - start


def compiled(sources: Dict[Path, bytes], folder: Path) -> Dict[Path, CodeType]:
    """Write a .pyc file into `folder` for each source; return them with their code."""
    found: Dict[Path, CodeType] = {}
    for source, text in sources.items():
        code = compile(text, str(source), "exec", dont_inherit=True)
        path = folder / f"{len(found)}.pyc"
        path.write_bytes(MAGIC_NUMBER + bytes(12) + dumps(code))
        found[path] = code
    return found


# A process inherits the peak of the one that started it: a small one comes in between.
_LAUNCHER = """
import json, os, sys
nothing = [(os.POSIX_SPAWN_OPEN, output, os.devnull, os.O_WRONLY, 0) for output in (1, 2)]
for command in json.load(sys.stdin):
    process = os.posix_spawnp(command[0], command, os.environ, file_actions=nothing)
    usage = os.wait4(process, 0)[2]
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


class Usage(NamedTuple):
    """What a process used: processor time in seconds, peak memory in KiB."""

    seconds: float
    memory: int


def usage_of(*commands: List[str]) -> List[Usage]:
    """Run commands one after the other; return what each used."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER],
        input=json.dumps(commands),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    rows = (line.split() for line in done.stdout.splitlines())
    return [Usage(float(spent), int(memory)) for spent, memory in rows]


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
    ours = min(used.seconds for used in usage_of(command, command, command))
    print(
        f"library   {name}: {sum(done.values()) / max(ours, 1e-6):.1f} times our time on the "
        f"{len(done)} of {len(theirs)} files that it completes"
    )


class Measured:
    """What a binary takes for all files: the least of its runs."""

    def __init__(self, binary: str) -> None:
        self.binary = binary
        self.start = self.plain = self.verified = float("inf")
        self.memory = self.more_memory = 0
        self.passed: Dict[int, float] = {}  # by the number of threads, in seconds

    def run(self, files: List[str], jobs: int) -> None:
        starts = usage_of(*[[self.binary, "--version"]] * 10)
        self.start = min(self.start, *(used.seconds for used in starts))
        command = [self.binary, "decompile", "--no-verify"]
        for count in sorted({1, jobs}):
            start = time.perf_counter()
            [used] = usage_of([*command, "--jobs", str(count), *files])
            passed = time.perf_counter() - start
            self.passed[count] = min(passed, self.passed.get(count, passed))
            if count == 1:
                self.plain = min(self.plain, used.seconds)
                self.memory = max(self.memory, used.memory)
        [used] = usage_of([self.binary, "decompile", "--jobs", "1", "--verify", *files])
        self.verified = min(self.verified, used.seconds)
        self.more_memory = max(self.more_memory, used.memory)


class Row(NamedTuple):
    """A line of the table: a measure of a binary, how it is shown, and its bar."""

    name: str
    of: Callable[[Measured], float]
    form: str
    bar: float
    at_least: bool = False

    def holds(self, measured: Measured) -> bool:
        value = self.of(measured)
        return value >= self.bar if self.at_least else value <= self.bar


def table(measured: List[Measured], compiling: float, jobs: int) -> bool:
    """Print what was measured, the last binary being the one that has to reach the bars."""
    rows = [
        Row("decompile --no-verify, of compile()", lambda m: m.plain / compiling, ".2f", 0.28),
        Row("decompile, of compile()", lambda m: m.verified / compiling, ".2f", 0.42),
        Row("peak --no-verify, MiB", lambda m: m.memory / 1024, ".1f", 24),
        Row("start, ms", lambda m: m.start * 1e3, ".1f", 3),
    ]
    if jobs > 1:
        name = f"{jobs} threads, of {jobs} times as fast"
        rows.append(Row(name, lambda m: m.passed[1] / m.passed[jobs] / jobs, ".2f", 0.9, True))
    titles = ["before", "now"] if len(measured) > 1 else ["now"]
    print(f"library   {'':38}" + "".join(f"{title:>9}" for title in [*titles, "bar"]))
    for row in rows:
        values = "".join(f"{row.of(one):9{row.form}}" for one in measured)
        missed = "" if row.holds(measured[-1]) else "  missed"
        print(f"library   {row.name:38}{values}{row.bar:9{row.form}}{missed}")
    for title, one in zip(titles, measured):
        print(
            f"library   {title}: {one.plain:.2f} s, verified {one.verified:.2f} s, "
            f"peak verified {one.more_memory / 1024:.1f} MiB"
        )
    return all(row.holds(measured[-1]) for row in rows)


def completes(pycdc: str, path: str) -> bool:
    """Tell whether pycdc reads all of a file: it says in the text or beside it what it leaves."""
    done = subprocess.run(
        [pycdc, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
    )
    return not (done.returncode or done.stderr or b"Decompyle incomplete" in done.stdout)


def compare_pycdc(files: List[str], binary: str) -> bool:
    """Print our time as a multiple of pycdc's, with one process per file as editors and git do it.

    The least of five runs of each file counts. Returns whether the time is short enough.
    """
    pycdc = shutil.which("pycdc")
    if pycdc is None:
        print("library   pycdc: not measured (no such program)")
        return True
    done = [path for path in files if completes(pycdc, path)]
    if not done:
        print(f"library   pycdc: completed none of {len(files)} files")
        return True
    print(
        f"library   one process per file, {len(done)} of {len(files)} files, which pycdc completes"
    )

    def seconds(*command: str) -> float:
        runs = [usage_of(*([*command, path] for path in done)) for _ in range(5)]
        return sum(min(used.seconds for used in of_file) for of_file in zip(*runs))

    theirs = max(seconds(pycdc), 1e-6)
    is_in_time = True
    for option, bar in (("--no-verify", 1.0), ("--verify", 1.2)):
        ours = seconds(binary, "decompile", option)
        is_in_time &= ours <= bar * theirs
        missed = "" if ours <= bar * theirs else "  missed"
        name = f"decompile {option}, of pycdc"
        print(
            f"library   {name:38}{ours / theirs:9.2f}{bar:9.2f}{missed}   "
            f"{1e3 * ours / len(done):.1f} ms per file"
        )
    return is_in_time


def under_each(versions: List[str], rest: List[str]) -> int:
    """Run this script under each version that is found; return 1 if one misses a bar."""
    from pellucid.interpreters import find_interpreter

    status = 0
    for version in versions:
        python = find_interpreter((int(version.split(".")[0]), int(version.split(".")[1])))
        if python is None:
            print(f"library   {version}: not measured (no such Python)")
            continue
        status |= subprocess.run([str(python), __file__, *rest], check=False).returncode
    return status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what a run under one interpreter is told."""
    parser.add_argument("--binary", default=str(ROOT / "build" / "make" / "pellucid"))
    parser.add_argument("--against", metavar="BINARY", help="another binary, shown as before")
    parser.add_argument("--library", default=sysconfig.get_paths()["stdlib"], help="its folder")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4), help="threads")
    parser.add_argument("--sample", type=int, default=40, help="files for the other decompilers")
    parser.add_argument("--processes", type=int, default=300, help="files for pycdc")
    parser.add_argument(
        "--counters", action="store_true", help="count instructions, misses and allocations"
    )


def main() -> int:
    """Print the table; return 1 if a bar is missed."""
    # The interpreters that are started get all arguments but this one.
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--python", nargs="+", metavar="3.x", help="run under each of these")
    asked, rest = first.parse_known_args()
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], parents=[first], allow_abbrev=False
    )
    add_arguments(parser)
    arguments = parser.parse_args()
    if asked.python:
        return under_each(asked.python, rest)
    warnings.simplefilter("ignore")
    sources = sources_of(Path(arguments.library))
    measured = [Measured(path) for path in (arguments.against, arguments.binary) if path]
    with tempfile.TemporaryDirectory() as name:
        codes = compiled(sources, Path(name))
        files = [str(path) for path in codes]
        compiling = float("inf")
        for _ in range(arguments.runs):
            compiling = min(compiling, seconds_to_compile(sources))
            for one in measured:
                one.run(files, arguments.jobs)
        print(
            f"library   {len(files)} files of {VERSION}, least of {arguments.runs} runs: "
            f"compile() {compiling:.2f} s"
        )
        is_in_time = table(measured, compiling, arguments.jobs)
        chosen = random.Random(1).sample(sorted(codes), min(arguments.sample, len(codes)))
        if arguments.counters:
            sample = [str(path) for path in chosen]
            for title, one in zip(["before", "now"][-len(measured) :], measured):
                command = [one.binary, "decompile", "--no-verify", "--jobs", "1"]
                print_counters([*command, *sample], f"{title}: --no-verify", len(sample))
                print_counters([*command, "--verify", *sample], title, len(sample))
        for peer, tool in peers().items():
            compare(peer, {path: time_of(tool, codes[path]) for path in chosen}, arguments.binary)
        several = random.Random(2).sample(files, min(arguments.processes, len(files)))
        is_in_time &= compare_pycdc(several, arguments.binary)
    return 0 if is_in_time else 1


if __name__ == "__main__":
    sys.exit(main())
