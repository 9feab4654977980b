# SPDX-License-Identifier: Apache-2.0
"""Give a CUDA build of torch what it links to, empty: then it runs on a machine without CUDA.

The nvidia packages that such a build asks for are five times its own size, and on a machine without
a GPU nothing in them is ever called. `fill(folder)` makes a shared library for each that is missing
beside torch's own: it has the names, the symbols and the symbol versions that torch's libraries
want, and every function in it returns the code for "there is no device".
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

_NO_DEVICE = 100  # cudaErrorNoDevice; every other library of CUDA only needs a value that is not 0


class Symbol(NamedTuple):
    """One line of a dynamic symbol table."""

    name: str
    version: str
    kind: str
    bound: bool
    weak: bool


def fill(folder: Path) -> List[str]:
    """Make the missing libraries that those of `folder` link to; return their names.

    Raises subprocess.CalledProcessError when there is no binutils, or no C compiler.
    """
    files = [f for f in sorted(folder.iterdir()) if ".so" in f.name and not f.is_symlink()]
    symbols = [symbol for file in files for symbol in _symbols(file)]
    libraries = sorted({name for file in files for name in _needed(file)})
    missing = [n for n in libraries if not (folder / n).exists() and not _loads(n)]
    if not missing:
        return []
    owner = {version: name for file in files for version, name in _versions(file)}
    here = {symbol.name for symbol in symbols if symbol.bound}
    wanted: Dict[str, Set[Symbol]] = {name: set() for name in missing}
    for symbol in symbols:
        if symbol.bound or symbol.weak or symbol.name in here:
            continue
        library = owner.get(symbol.version)
        if library in wanted:
            wanted[library].add(symbol)
        elif not symbol.version and not symbol.name.startswith(("Py", "_Py")):
            # Without a version any library that is loaded may have it.
            wanted[missing[0]].add(symbol)
    for name in missing:
        _make(folder / name, wanted[name])
    return missing


def _run(*command: str) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode(errors="replace")


def _needed(file: Path) -> List[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", _run("readelf", "-Wd", str(file)))


def _versions(file: Path) -> Iterator[Tuple[str, str]]:
    """Yield (version, library) for every symbol version that a file wants."""
    library = ""
    for line in _run("readelf", "-WV", str(file)).splitlines():
        found = re.search(r"\bFile: (\S+)", line)
        library = found[1] if found else library
        found = re.search(r"\bName: (\S+)", line)
        if found and library:
            yield found[1], library


def _symbols(file: Path) -> Iterator[Symbol]:
    for line in _run("readelf", "-W", "--dyn-syms", str(file)).splitlines():
        columns = line.split()
        if len(columns) < 8 or not columns[0].rstrip(":").isdigit():
            continue
        name, _, version = columns[7].partition("@")
        yield Symbol(
            name, version.lstrip("@"), columns[3], columns[6] != "UND", columns[4] == "WEAK"
        )


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _make(path: Path, symbols: Set[Symbol]) -> None:
    lines = []
    versions: Dict[str, List[str]] = {}
    for name, version, kind in sorted({(s.name, s.version, s.kind) for s in symbols}):
        if kind == "OBJECT":
            lines.append(f"char {name}[4096];")
        elif re.search(r"(String|Name|Version)$", name):
            lines.append(f'const char *{name}(void) {{ return "none"; }}')
        else:
            lines.append(f"long {name}(void) {{ return {_NO_DEVICE}; }}")
        if version:
            versions.setdefault(version, []).append(name)
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder, "empty.c"), Path(folder, "empty.map")
        source.write_text("\n".join(lines) + "\n")
        nodes = (f"{version} {{ global: {'; '.join(n)}; }};" for version, n in versions.items())
        script.write_text("\n".join(nodes) + "\n")
        command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-w", "-fno-builtin"]
        command += ["-o", str(path), f"-Wl,-soname,{path.name}", str(source)]
        _run(*command, *[f"-Wl,--version-script={script}"][: len(versions)])


if __name__ == "__main__":
    print("\n".join(fill(Path(sys.argv[1]))))
