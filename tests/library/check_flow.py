# SPDX-License-Identifier: Apache-2.0
"""Build the flow graph of every code object of a version's standard library.

    python tests/library/check_flow.py 3.12
    python tests/library/check_flow.py 3.14 --every 20        # a sample
    python tests/library/check_flow.py 3.8 --python PATH --binary build/dev/pellucid

Use a binary with PELLUCID_CHECKS (the dev preset): it checks every graph against the invariants
of src/flow/graph.h. Every file must have its graphs, and of what compilers emit no SEND loop may be
left. Prints the figures; exits with 1 if anything is amiss.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, NamedTuple, Optional

from check_decode import CHUNK, interpreter, make_listings
from pythons import ROOT, VERSIONS


class Figures(NamedTuple):
    """What was built, and what is amiss."""

    files: int
    graphs: int
    blocks: int
    handlers: int
    complaints: List[str]


def build_graphs(binary: Path, folder: Path) -> Figures:
    """Build the graphs of every .pyc in `folder`."""
    pycs = sorted(folder.glob("*.pyc"))
    graphs = blocks = handlers = 0
    complaints: List[str] = []
    for start in range(0, len(pycs), CHUNK):
        done = subprocess.run(
            [str(binary), "dump", "--stage=flow", *map(str, pycs[start : start + CHUNK])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
        complaints += done.stderr.decode(errors="replace").splitlines()
        name = ""
        for line in done.stdout.decode("utf-8", errors="replace").splitlines():
            if line.startswith("flow "):
                name = line[len("flow ") :]
                graphs += 1
            blocks += line.startswith("  block ")
            handlers += line.startswith("  handler ")
            if line.startswith(("    CleanupThrow", "    send ")):
                complaints.append(f"{name}: a SEND loop is left")
    return Figures(len(pycs), graphs, blocks, handlers, complaints)


def check(version: str, binary: Path, every: int, python: Optional[str] = None) -> Figures:
    """Compile (a sample of) the standard library of `version` and build its graphs."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--stdlib", "--every", str(every)]
        make_listings(interpreter(version, python), Path(folder), arguments)
        return build_graphs(binary, Path(folder))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version", choices=VERSIONS)
    parser.add_argument("--every", type=int, default=1, help="take every N-th file only")
    parser.add_argument("--python", help="the interpreter of that version (default: looked for)")
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "make" / "pellucid")
    options = parser.parse_args()
    figures = check(options.version, options.binary, options.every, options.python)
    for complaint in figures.complaints[:20]:
        print(complaint)
    print(
        f"{options.version}: {figures.files} files, {figures.graphs} graphs,"
        f" {figures.blocks} blocks, {figures.handlers} handlers,"
        f" {len(figures.complaints)} complaints"
    )
    return 1 if figures.complaints or not figures.graphs else 0


if __name__ == "__main__":
    sys.exit(main())
