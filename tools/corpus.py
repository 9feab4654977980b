"""Decompile the standard library of every CPython found and count the verdicts.

`corpus.py 3.11` takes one version, `--sample 0.1` a tenth of the files, `--out DIR` keeps what was
decompiled. The library is compiled by the interpreter it belongs to; nothing of it is run.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

from pellucid import batch
from pellucid.interpreters import find_interpreter

VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]

# Compiles the files named on standard input to .pyc files in the folder argv[1], mirroring argv[2].
_COMPILE = """
import os, py_compile, sys
out, root = sys.argv[1:3]
for path in sys.stdin.read().splitlines():
    to = os.path.join(out, os.path.relpath(path, root)) + "c"
    try:
        py_compile.compile(path, to, doraise=True, optimize=0, quiet=2)
    except Exception:
        pass
print(root)
"""


def standard_library(python: Path) -> Path:
    """Return the folder of an interpreter's standard library."""
    asked = [str(python), "-I", "-c", "import os; print(os.path.dirname(os.__file__))"]
    return Path(subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout.decode().strip())


def sources(root: Path, sample: float, seed: int) -> List[Path]:
    """Return the library's own files, the test suite and installed packages aside."""
    aside = {"site-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__"}
    found = [p for p in sorted(root.rglob("*.py")) if not aside & set(p.relative_to(root).parts)]
    if sample < 1:
        found = random.Random(seed).sample(found, max(1, int(len(found) * sample)))
    return found


def compiled(python: Path, files: List[Path], root: Path, out: Path) -> List[Path]:
    """Compile the files and return the `.pyc` files made."""
    names = "\n".join(map(str, files)).encode()
    command = [str(python), "-I", "-c", _COMPILE, str(out), str(root)]
    subprocess.run(command, input=names, stdout=subprocess.DEVNULL, check=True)
    return sorted(out.rglob("*.pyc"))


def verdicts(files: List[Path], out: Optional[Path], base: Path) -> Iterator[Tuple[Path, str, str]]:
    """Yield (file, verdict or "error", reason) for each file."""

    def one(path: Path) -> Tuple[Path, str, str]:
        target = out / path.relative_to(base).with_suffix(".py") if out else None
        result = batch.decompile_file(batch.Job(path, target), verify=True)
        if result.verdict is None:
            return path, "error", result.error or ""
        return path, result.verdict.status, result.verdict.reason

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(one, files)


def main() -> int:
    """Print a line a version; with --reasons, the commonest reasons of what is not proven."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--sample", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--reasons", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    for version in arguments.versions:
        major, minor = version.split(".")
        python = find_interpreter((int(major), int(minor)))
        if python is None:
            print(f"{version:5} skipped: no such interpreter here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = standard_library(python)
            base = Path(folder)
            files = compiled(python, sources(root, arguments.sample, arguments.seed), root, base)
            out = arguments.out / version if arguments.out else None
            report(version, list(verdicts(files, out, base)), base, arguments.reasons)
    return 0


def report(version: str, results: List[Tuple[Path, str, str]], base: Path, reasons: int) -> None:
    """Print the counts of one version and the commonest reasons."""
    counts: Dict[str, int] = collections.Counter(status for _, status, _ in results)
    proven = counts["identical"] + counts["equivalent"]
    print(
        f"{version:5} {len(results)} files: {counts['identical']} identical, "
        f"{counts['equivalent']} equivalent, {counts['unproven']} unproven, "
        f"{counts['error']} errors ({100 * proven / max(1, len(results)):.1f} % proven)",
        flush=True,
    )
    kinds: Dict[str, List[Path]] = collections.defaultdict(list)
    for path, status, reason in results:
        if status in ("unproven", "error"):
            kinds[reason.split(": ", 1)[-1].split(" at byte")[0]].append(path)
    for reason, paths in sorted(kinds.items(), key=lambda item: -len(item[1]))[:reasons]:
        print(f"      {len(paths):4}  {reason}  ({paths[0].relative_to(base)})")


if __name__ == "__main__":
    sys.exit(main())
