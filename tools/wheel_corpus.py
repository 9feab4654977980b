# SPDX-License-Identifier: Apache-2.0
"""Make a large corpus of `.pyc`: wheels of much used packages, compiled by every CPython found.

`wheel_corpus.py OUT` fetches the wheels of the names in `tools/wheel_corpus.txt` into OUT/wheels
(each once, without what it depends on), and writes OUT/pyc/3.11/NAME/….pyc for each version and
each source that the version can compile. `--names FILE` takes other names, `--versions 3.11,3.13`
some versions, `--most 350` so many sources of each wheel, spread over its names. Nothing of the
packages is run. The bytes of a `.pyc` depend on source and version only: there is no time and no
path of this machine in it, so that two corpora have the same files.
"""

import argparse
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import List

import pythons
from pellucid.interpreters import find_interpreter

NAMES = Path(__file__).with_suffix(".txt")

# Compiles sources that wheels hold (a wheel, a tab and a member a line of standard input) to .pyc
# files in the folder argv[1]; what this version cannot compile is passed over.
_COMPILE = """
import importlib._bootstrap_external as external, importlib.util, os, sys, warnings, zipfile
warnings.simplefilter("ignore")
sys.setrecursionlimit(5000)
opened = {}
for line in sys.stdin.buffer.read().decode("utf-8", "surrogateescape").splitlines():
    wheel, member = line.split("\t")
    to = os.path.join(sys.argv[1], os.path.basename(wheel).partition("-")[0], member + "c")
    if os.path.exists(to):
        continue
    if wheel not in opened:
        opened = {wheel: zipfile.ZipFile(wheel)}
    source = opened[wheel].read(member)
    try:
        code = compile(source, member, "exec", dont_inherit=True, optimize=0)
    except Exception:
        continue
    digest = importlib.util.source_hash(source)
    os.makedirs(os.path.dirname(to), exist_ok=True)
    with open(to + ".new", "wb") as file:
        file.write(external._code_to_hash_pyc(code, digest, False))
    os.replace(to + ".new", to)
"""


def fetch(names: List[str], folder: Path) -> List[Path]:
    """Fetch the wheels of packages that are not there; say so where there is none."""

    def there(name: str) -> List[Path]:
        start = name.replace("-", "_").lower() + "-"
        return [path for path in folder.glob("*.whl") if path.name.lower().startswith(start)]

    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    missing = [name for name in names if not there(name)]
    # All at once, and where one of them cannot be had one by one.
    if missing and subprocess.call([*command, "-d", str(folder), *missing]) != 0:
        for name in missing:
            if subprocess.call([*command, "-d", str(folder), name]) != 0:
                print(f"{name}: no wheel", file=sys.stderr)
    return [wheel for name in names for wheel in there(name)]


def sources(wheel: Path, most: int) -> List[str]:
    """Return the names of sources in a wheel, at most so many, spread evenly; 0: all."""
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".py"))
    names = [name for name in names if ".." not in name.split("/") and not name.startswith("/")]
    if not most or len(names) <= most:
        return names
    return [names[at * len(names) // most] for at in range(most)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--names", type=Path, default=NAMES, help="a file, a name a line")
    parser.add_argument("--versions", default=",".join(pythons.VERSIONS))
    parser.add_argument("--most", type=int, default=0, help="sources of a wheel (0: all)")
    arguments = parser.parse_args()
    folder = arguments.out / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    names = arguments.names.read_text(encoding="ascii").split()
    wheels = fetch(names, folder)
    text = "".join(
        f"{wheel}\t{name}\n" for wheel in wheels for name in sources(wheel, arguments.most)
    )
    for version in arguments.versions.split(","):
        python = find_interpreter((3, pythons.minor(version)))
        if python is None:
            print(f"{version}: no interpreter", file=sys.stderr)
            continue
        out = arguments.out / "pyc" / version
        command = [str(python), "-I", "-c", _COMPILE, str(out)]
        subprocess.run(command, input=os.fsencode(text), check=True)
        print(f"{version}: {sum(1 for _ in out.rglob('*.pyc'))} files", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
