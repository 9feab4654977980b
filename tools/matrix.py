# SPDX-License-Identifier: Apache-2.0
"""Test the PyTorch side on every pair of Python and torch: `make matrix`.

Each pair is tested in the environment that its Python has in build/hosts, with pellucid linked with
the core that `--core` names; a pair whose Python is not on this machine is left out, and said so.
A build of torch for CUDA is installed without the libraries of CUDA (see get_torch.py).
"""

import argparse
import functools
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Counter, List, NamedTuple, Optional

import get_torch
import hosts

ROOT = hosts.ROOT
OUT = ROOT / "build" / "hosts"


class Pair(NamedTuple):
    """A Python with a release of torch, as tests/torch/requirements.txt promises."""

    python: str
    torch: str

    def __str__(self) -> str:
        return f"{self.python}+{self.torch}"


REQUIREMENTS = ROOT / "tests" / "torch" / "requirements.txt"
PAIRS = [
    Pair(python, torch)
    for torch, python in re.findall(
        r'^torch==(\S+); python_version == "(\S+)"$', REQUIREMENTS.read_text(), re.MULTILINE
    )
]


# `make test` runs this one too under CI.
NEWEST = PAIRS[-1]


def stamp_of(pair: Pair) -> Path:
    """Return the file that says that the environment of a pair is there."""
    return OUT / pair.python / f"torch-{pair.torch}"


def install(pair: Pair, core: Path) -> Optional[Path]:
    """Make the environment of a pair; return its interpreter, or None where its Python is not."""
    major, minor = pair.python.split(".")
    for host in hosts.install([(int(major), int(minor))], core, OUT):
        if not stamp_of(pair).exists():
            host.pip(*hosts.listed(host.python, "test"))
            run = functools.partial(hosts.run, host.log)
            get_torch.install_hollow(str(host.python), f"torch=={pair.torch}", run)
            stamp_of(pair).write_text("")
        return host.python
    return None


def test(pair: Pair, python: Path, arguments: List[str]) -> bool:
    """Run the tests of the PyTorch side on a pair; say how it went."""
    started = time.monotonic()
    command = [str(python), "-u", "-m", "pytest", "-v", "-p", "no:cacheprovider", *arguments]
    lines = []
    # Each line is kept as it comes: a run that is cut short has told how far it got.
    with (OUT / f"{pair}.txt").open("w", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env={**os.environ, "PELLUCID_HOST": pair.python},
            encoding="utf-8",
            errors="replace",
        )
        assert process.stdout is not None
        files = Files(pair)
        for line in process.stdout:
            log.write(line)
            log.flush()
            lines.append(line.rstrip("\n"))
            files.add(lines[-1])
        files.end()
        process.wait()
    text = "\n".join(lines)
    found = re.findall(r"^=* ?(\d+ (?:passed|failed|skipped|error).*?) ?=*$", text, re.MULTILINE)
    summary = found[-1] if found else f"pytest ended with {process.returncode}"
    print(f"{pair!s:14} {summary} ({time.monotonic() - started:.0f} s)", flush=True)
    for line in lines:
        if line.startswith(("FAILED", "ERROR")):
            print(f"{'':14} {line}", flush=True)
    return process.returncode == 0


class Files:
    """Says of each file of tests how it went, when pytest goes on to the next."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._file = ""
        self._counts: Counter[str] = Counter()

    def add(self, line: str) -> None:
        """Take a line of `pytest -v`; what a test itself prints may stand around its outcome."""
        begins = re.match(r"(\S+\.py)::", line)
        if begins and begins.group(1) != self._file:
            self.end()
            self._file = begins.group(1)
        outcome = re.search(r"\b(PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b.*\[ *\d+%\]$", line)
        if outcome:
            self._counts[outcome.group(1).lower()] += 1

    def end(self) -> None:
        """Say how the file went that ends here."""
        if self._counts:
            said = ", ".join(f"{count} {outcome}" for outcome, count in self._counts.items())
            print(f"{self._pair!s:14} {Path(self._file).name}: {said}", flush=True)
        self._counts.clear()


def main() -> int:
    """Install and test the pairs; return how many failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--core", type=Path, required=True)
    parser.add_argument("--only", help="pairs such as 3.13+2.15.0, with commas between them")
    parser.add_argument("--newest", action="store_true", help="the newest pair only")
    parser.add_argument("--install", action="store_true", help="make the environments only")
    parser.add_argument("tests", nargs="*", default=["tests/torch"], help="arguments of pytest")
    arguments = parser.parse_args()
    chosen = [NEWEST] if arguments.newest else PAIRS
    if arguments.only:
        chosen = [pair for pair in chosen if str(pair) in arguments.only.split(",")]
    if not chosen:
        parser.error(f"no such pair: {arguments.only}")
    failed = 0
    for pair in chosen:
        python = install(pair, arguments.core)
        if python is None:
            print(f"{pair!s:14} left out: no Python {pair.python} here")
        elif not arguments.install:
            failed += not test(pair, python, arguments.tests)
    return failed


if __name__ == "__main__":
    sys.exit(main())
