# SPDX-License-Identifier: Apache-2.0
"""Bring Emscripten onto a Debian system that has none: `make web` does so.

    python tools/get_emscripten.py

Where `emcc` is found on PATH, that one is used. Else the packages of Debian's next release are
downloaded (some 90 MB) and unpacked into build/emscripten/root; nothing is installed, and no rights
are needed. Node and Python are this system's own. What a build needs is written into
build/emscripten/env.sh: a shell that has read it finds emcc. Where Emscripten cannot be had, the
reason is said and the exit code is 1. DEBIAN_MIRROR and DEBIAN_SUITE name another mirror or
release.
"""

import os
import re
import shlex
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List

import debian
from debian import Apt, Unavailable, patchelf

WORK = Path(__file__).resolve().parent.parent / "build" / "emscripten"
ROOT = WORK / "root"
LOG = WORK / "log.txt"
SETTINGS = WORK / "env.sh"
# Of the packages that Emscripten depends on, those that its compiler runs. The others are for
# programs of this system: its own Node, Python and C compiler do.
WANTED = re.compile(
    r"emscripten|binaryen|(clang|lld|llvm)-\d+|libclang-common-\d+-dev|libclang-cpp[\d.]+|node-acorn"
    r"|libllvm[\d.]+|libc6|libgcc-s1|libstdc\+\+6|libz3-4|libzstd1|zlib1g|libxml2(-\d+)?|libtinfo6"
    r"|libffi\d+|libedit2|libbsd0|libmd0"
)
PROGRAMS = ("clang", "lld", "llvm-ar", "llvm-nm", "llvm-objcopy")


def packages(apt: Apt) -> List[str]:
    """Return the names of the packages to download."""
    asked = ("install", "--yes", "--no-install-recommends", "--print-uris", "emscripten")
    found = re.findall(r"'\S+' (\S+?)_\S+\.deb ", apt.get(*asked))
    return sorted({name for name in found if WANTED.fullmatch(name)})


def bring(suite: str) -> None:
    """Make ROOT. Raises Unavailable."""
    debian.check_system()
    editor = patchelf()
    if shutil.which("node") is None:
        raise Unavailable("there is no node")
    apt = Apt(WORK / "apt", suite, LOG)
    apt.get("update")
    if not apt.has("emscripten"):
        raise Unavailable(f"Debian's {suite} has no Emscripten")
    here = Path.cwd()
    os.chdir(apt.archives)
    try:
        apt.get("download", *packages(apt))
    finally:
        os.chdir(here)
    shutil.rmtree(ROOT, ignore_errors=True)
    part = WORK / "part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    largest_first = sorted(apt.archives.glob("*.deb"), key=lambda path: -path.stat().st_size)
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for _ in workers.map(
            lambda archive: debian.run(LOG, "dpkg-deb", "--extract", str(archive), str(part)),
            largest_first,
        ):
            pass
    settle(part, editor)
    part.rename(ROOT)
    shutil.rmtree(WORK / "apt")


def settle(part: Path, editor: str) -> None:
    """Make the programs in `part` run once it is ROOT, on the libraries that lie there."""
    libraries = next(part.glob("usr/lib/*/libc.so.6")).parent
    loader = next(libraries.glob("ld-linux*.so.*"))
    llvm = next(part.glob("usr/lib/llvm-*")) / "bin"
    places = (ROOT / loader.relative_to(part), ROOT / libraries.relative_to(part))
    # These libraries name a place themselves, which would count before that of the program.
    for library in [*libraries.glob("libLLVM*.so.*"), *libraries.glob("libclang-cpp.so.*")]:
        if not library.is_symlink():
            debian.run(LOG, editor, "--remove-rpath", str(library))
    for program in [llvm / name for name in PROGRAMS]:
        debian.relocate(editor, LOG, program, *places)
    for program in (part / "usr" / "bin").glob("wasm-*"):
        binaryen = places[1] / "binaryen"
        debian.relocate(editor, LOG, program, places[0], Path(f"{places[1]}:{binaryen}"))
    # An `import` looks into the node_modules of the folders above; NODE_PATH is for `require`.
    (part / "usr" / "share" / "node_modules").symlink_to("nodejs")
    config = part / "config.py"
    config.write_text(
        f"LLVM_ROOT = {str(ROOT / llvm.relative_to(part))!r}\n"
        f"BINARYEN_ROOT = {str(ROOT / 'usr')!r}\n"
        f"NODE_JS = {shutil.which('node')!r}\n"
        f"CACHE = {str(WORK / 'cache')!r}\n",
        encoding="utf-8",
    )


def settings() -> str:
    """Return what a shell has to read to find emcc."""
    if shutil.which("emcc") is not None:
        return ""
    values = {
        "EM_CONFIG": ROOT / "config.py",
        "EMSDK_PYTHON": sys.executable,
        "NODE_PATH": ROOT / "usr" / "share" / "nodejs",
    }
    lines = [f"export {name}={shlex.quote(str(value))}" for name, value in values.items()]
    path = shlex.quote(str(ROOT / "usr" / "share" / "emscripten"))
    return "\n".join([*lines, f'export PATH={path}:"$PATH"', ""])


def main() -> int:
    """Bring Emscripten if it is not there."""
    WORK.mkdir(parents=True, exist_ok=True)
    if shutil.which("emcc") is None and not ROOT.exists():
        LOG.write_text("")
        print("make: bringing Emscripten (some 90 MB)", file=sys.stderr)
        try:
            bring(os.environ.get("DEBIAN_SUITE", "testing"))
        except Unavailable as reason:
            print(f"make: no Emscripten: {reason}", file=sys.stderr)
            return 1
    SETTINGS.write_text(settings(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
