# SPDX-License-Identifier: Apache-2.0
"""Compare what two builds of pellucid say, byte for byte.

`same_output.py BEFORE AFTER` takes two native binaries and runs both on the standard library of
every CPython found (`same_output.py BEFORE AFTER 3.8 3.14` on those alone; `--sample 60` on so many
files of each), on tests/cases and on tests/regress: proven, plain, with original lines, and with
every body as a loop over a state. Texts, names of files, messages and exit codes are compared.
Prints what differs, and how much was compared; exits with 1 if anything differs.
"""

import argparse
import filecmp
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Tuple

import corpus
import oracle
import pythons

MODES: Dict[str, List[str]] = {
    "proven": [],
    "plain": ["--no-verify"],
    "lines": ["--no-verify", "--keep-lines"],
    "unstructured": ["--no-verify", "--unstructured"],
}


class Output(NamedTuple):
    """What one build has said of one folder."""

    status: int
    messages: bytes
    files: "Dict[Path, Path]"  # below the folder of the output -> where it lies


def output_of(binary: Path, mode: str, inputs: Path, out: Path) -> Output:
    """Decompile a folder of `.pyc` files into `out`."""
    command = [str(binary), "decompile", *MODES[mode], "--jobs", "2", "-o", str(out), str(inputs)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    files = {p.relative_to(out): p for p in out.rglob("*") if p.is_file()}
    # The line that sums up ends with how long it took.
    messages = re.sub(rb"(?m)^( *total .*) in [0-9.]+ s$", rb"\1", done.stderr)
    messages = messages.replace(str(out).encode(), b"OUT")
    return Output(done.returncode, messages, files)


def differences(before: Output, after: Output) -> Iterator[str]:
    """Yield a line for each way in which two outputs differ."""
    if before.status != after.status:
        yield f"exit code {before.status}, then {after.status}"
    # Files are done side by side, so lines may come in another order.
    old, new = (sorted(each.messages.splitlines()) for each in (before, after))
    if old != new:
        changed = set(old) ^ set(new)
        yield f"{len(changed)} messages: {sorted(changed)[0].decode(errors='replace')}"
    for name in sorted(before.files.keys() ^ after.files.keys()):
        yield f"{name} is written by one build alone"
    for name in sorted(before.files.keys() & after.files.keys()):
        if not filecmp.cmp(before.files[name], after.files[name], shallow=False):
            yield f"{name} differs"


def inputs(versions: List[str], sample: int, base: Path) -> Iterator[Tuple[str, Path]]:
    """Yield a name and a folder of `.pyc` files for each thing to compare."""
    for version in versions:
        python = oracle.interpreter(version)
        if python is None:
            print(f"{version}: no interpreter")
            continue
        root = corpus.standard_library(python)
        files = corpus.sources(root, sample or None, seed=0)
        corpus.compiled(python, root, files, base / version)
        yield version, base / version
    for name in ("cases", "regress"):
        yield f"tests/{name}", pythons.ROOT / "tests" / name


def main() -> int:
    """Compare two binaries and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("versions", nargs="*", default=pythons.VERSIONS)
    parser.add_argument(
        "--sample", type=int, default=0, help="files of each library (default: all)"
    )
    parser.add_argument("--modes", nargs="+", choices=sorted(MODES), default=sorted(MODES))
    asked = parser.parse_args()
    compared = different = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, where in inputs(asked.versions, asked.sample, Path(folder) / "pyc"):
            for mode in asked.modes:
                with tempfile.TemporaryDirectory(dir=folder) as both:
                    before, after = (
                        output_of(binary.resolve(), mode, where, Path(both) / side)
                        for side, binary in (("before", asked.before), ("after", asked.after))
                    )
                    found = list(differences(before, after))
                    print(
                        f"{name:14} {mode:12} {len(before.files):5} files, {len(found)} differences"
                    )
                    for line in found[:10]:
                        print(f"    {line}")
                compared += len(before.files)
                different += len(found)
    print(f"{compared} files compared, {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
