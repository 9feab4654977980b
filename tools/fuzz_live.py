# SPDX-License-Identifier: Apache-2.0
"""Change live code objects at random and decompile them: nothing may crash, hang or go wrong.

    fuzz_live.py --tries 200000                    # every host that is installed in build/hosts
    fuzz_live.py --versions 3.14 --seed 7 --tries 1000000
    fuzz_live.py --versions 3.14 --replay 7:81234  # one try again, in a process of its own

Bytes, constants (of every type), names, flags, counts and tables of functions, class bodies and
modules of the standard library are changed with `code.replace`, those of nested code too, and
handed to `decompile_ex`, with facts now and then. Each try is made from the seed and its number,
which a process writes down before it begins; a process that dies costs one try, which is reported.
"""

import argparse
import collections
import concurrent.futures
import functools
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Callable, Counter, List, Optional, Tuple

from live_changes import Changer, CodeType, seeds

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = [f"3.{minor}" for minor in range(8, 16)]
SECONDS = 30  # for one try
MEMORY = 4 << 30
BATCH = 20_000


def attempt(seed: int, number: int, pool: List[CodeType], begin: Callable[[], None]) -> str:
    """Make one try; say what became of it, or what is wrong."""
    from pellucid import DecompileError, decompile_ex

    changer = Changer(random.Random(f"{seed}:{number}"), pool)
    code = changer.changed(changer.rng.choice(pool))
    facts = changer.facts(code)
    begin()
    try:
        found = decompile_ex(code, facts=facts)
        verdict = found.verdict
    except DecompileError as error:
        return "refused" if error.code != "internal" else f"wrong: {error}"
    except Exception as error:
        return f"wrong: {type(error).__name__}: {error}"[:300]
    for diagnostic in found.diagnostics:
        if "check failed" in diagnostic.message:
            return f"wrong: {diagnostic.message}"
    if "check failed" in verdict.reason or verdict.tier == "none":
        return f"wrong: {verdict.reason}"
    # Code that nothing runs may be refused, and all the rest proven.
    refused = {diagnostic.code for diagnostic in found.diagnostics if diagnostic.refused}
    # Several may have one path.
    statuses = {one.code: set() for one in verdict.codes}
    for one in verdict.codes:
        statuses[one.code].add(one.status)
    if any("unproven" not in statuses.get(code, {"unproven"}) for code in refused):
        return "wrong: refused, and yet proven"
    if refused:
        return "refused"
    return verdict.status


def run_child(seed: int, first: int, last: int, place: str) -> None:
    """Make tries; `place` is a file that holds the number of the running one, and its phase."""
    import resource

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    pool = seeds()
    counts: Counter[str] = collections.Counter()
    with open(place, "r+b") as file:
        state = mmap.mmap(file.fileno(), 16)
        for number in range(first, last):
            state[:16] = struct.pack("<QQ", number, 0)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            result = attempt(seed, number, pool, lambda: state.__setitem__(slice(8, 9), b"\1"))
            signal.setitimer(signal.ITIMER_REAL, 0)
            if result.startswith("wrong"):
                print(f"{number} {result!a}", flush=True)
                result = "wrong"
            counts[result] += 1
    for result, count in counts.items():
        print(f"= {result} {count}", flush=True)
    # A process has nothing left to do but to take apart what it made.
    sys.stdout.flush()
    os._exit(0)


def batch(python: str, seed: int, span: Tuple[int, int]) -> "Tuple[Counter[str], List[str]]":
    """Make the tries of a span, in as many processes as it takes."""
    counts: Counter[str] = collections.Counter()
    complaints: List[str] = []
    first, last = span
    while first < last:
        with tempfile.NamedTemporaryFile() as place, tempfile.TemporaryFile() as out:
            place.write(struct.pack("<QQ", first, 0))
            place.flush()
            command = [python, __file__, "--child", *map(str, (seed, first, last)), place.name]
            status = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                check=False,
            ).returncode
            number, phase = struct.unpack("<QQ", Path(place.name).read_bytes()[:16])
            out.seek(0)
            for line in out.read().decode().splitlines():
                if line.startswith("= "):
                    counts[line.split()[1]] += int(line.split()[2])
                else:
                    complaints.append(line)
            if status == 0:
                break
            if status > 0:
                raise SystemExit(f"fuzz_live: {' '.join(command)} ended with status {status}")
            what = "hang" if status == -signal.SIGALRM else "crash"
            if phase == 0:
                what = "crash of CPython's own"
            counts[what] += 1
            counts["(not counted: before a crash)"] += number - first
            complaints.append(f"{number} {what}: the process ended with status {status}")
            first = number + 1
    return counts, complaints


def host(version: str) -> Optional[str]:
    """Return the interpreter with pellucid of a version."""
    if version == "{}.{}".format(*sys.version_info[:2]):
        return sys.executable
    python = ROOT / "build" / "hosts" / version / "bin" / "python"
    return str(python) if python.exists() else None


def main() -> int:
    """Fuzz each host; print what went wrong, and counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--versions", nargs="+", default=VERSIONS)
    parser.add_argument("--tries", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first try")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--replay", help="SEED:NUMBER")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_child(*map(int, arguments.child[:3]), arguments.child[3])
    if arguments.one:
        seed, number = map(int, arguments.one.split(":"))
        print(attempt(seed, number, seeds(), lambda: print("begins", flush=True)).encode())
        return 0
    is_clean = True
    for version in arguments.versions:
        python = host(version)
        if python is None:
            print(f"{version}: pellucid is not installed there (build/hosts)")
            continue
        if arguments.replay:
            subprocess.run([python, "-X", "faulthandler", __file__, "--one", arguments.replay])
            continue
        end = arguments.first + arguments.tries
        spans = [(at, min(at + BATCH, end)) for at in range(arguments.first, end, BATCH)]
        counts: Counter[str] = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for some, complaints in pool.map(
                functools.partial(batch, python, arguments.seed), spans
            ):
                counts += some
                for complaint in complaints:
                    print(f"{version}: {arguments.seed}:{complaint}", flush=True)
        total = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
        print(f"{version}: {arguments.tries} tries: {total}", flush=True)
        is_clean = is_clean and not any(counts[what] for what in ("crash", "hang", "wrong"))
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
