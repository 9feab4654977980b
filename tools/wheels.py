# SPDX-License-Identifier: Apache-2.0
"""Build the wheels for Linux on x86-64 and aarch64, and the source archive, into `--out`.

The core is compiled once per architecture, by Zig's C++ compiler: a Clang that compiles for either
one, links against a glibc as old as it is told to and brings a static libc++, so that a wheel needs
nothing but libc. The extension of each Python links that core. 3.8 to 3.11 have a wheel each; that
of 3.12 is built against the stable ABI and serves every later Python as well. The headers are those
of the Pythons found here: on Linux they are the same for all 64-bit architectures.

`python/drop_in` is a wheel of its own: pellucid under the name depyf.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Mapping, Optional

from pellucid.interpreters import Version, find_interpreter
from pythons import STABLE

ROOT = Path(__file__).resolve().parent.parent
VERSIONS: List[Version] = [*((3, minor) for minor in range(8, 12)), STABLE]
GLIBC = "2.17"
ARCHITECTURES = ("x86_64", "aarch64")
MOST_BYTES = 6_000_000
SOURCE = "source"
"""What is built of no version: the source archive, and the wheel that replaces depyf."""


def run(command: List[str], log: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Run a command quietly; show the end of its output if it fails."""
    with log.open("ab") as file:
        done = subprocess.run(
            command, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT, env=environment, check=False
        )
    if done.returncode != 0:
        print(log.read_text(errors="replace")[-6000:], file=sys.stderr)
        raise SystemExit(f"wheels: failed: {' '.join(command)}")


def compiler(folder: Path, architecture: str) -> List[str]:
    """Write the programs that CMake calls into `folder`; return the settings that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    programs = {
        "CMAKE_CXX_COMPILER": f"c++ -target {architecture}-linux-gnu.{GLIBC}",
        "CMAKE_AR": "ar",
        "CMAKE_RANLIB": "ranlib",
    }
    settings = []
    for variable, arguments in programs.items():
        program = folder / f"zig-{arguments.split()[0]}"
        text = f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {arguments} "$@"\n'
        if not program.exists() or program.read_text() != text:
            program.write_text(text)
            program.chmod(0o755)
        settings.append(f"{variable}={program}")
    # Python.h includes it up to 3.10, for functions that no extension needs and Zig has no word of.
    (folder / "crypt.h").write_bytes(b"")
    settings.append(f"CMAKE_CXX_FLAGS=-idirafter {folder}")
    return [*settings, "PELLUCID_WERROR=ON"]


def build_core(folder: Path, settings: List[str], log: Path) -> None:
    """Compile the layers into the build tree `folder`."""
    defines = [f"-D{setting}" for setting in settings]
    run(["cmake", "-S", ".", "-B", str(folder), "-G", "Ninja", *defines], log)
    run(["cmake", "--build", str(folder), "--target", "pellucid_library"], log)


def environment(version: Version, folder: Path, log: Path) -> Optional[Path]:
    """Return an interpreter that has what a build needs, or None if there is no such Python."""
    interpreter = find_interpreter(version)
    if interpreter is None:
        return None
    python = folder / "bin" / "python"
    if not python.exists():
        run([str(interpreter), "-m", "venv", str(folder)], log)
        run([str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip"], log)
        listed = subprocess.run(
            [str(python), "tools/extras.py", "requires"],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            check=True,
        )
        run([str(python), "-m", "pip", "install", "--quiet", *listed.stdout.decode().split()], log)
    return python


def target(version: Version, architecture: str) -> Mapping[str, str]:
    """Return the environment in which a build makes a wheel for an architecture."""
    suffix = ".cpython-{}{}-{}-linux-gnu.so".format(*version, architecture)
    platform = f"linux-{architecture}"
    return {**os.environ, "SETUPTOOLS_EXT_SUFFIX": suffix, "_PYTHON_HOST_PLATFORM": platform}


def build_wheel(
    python: Path, version: Version, architecture: str, settings: List[str], work: Path, log: Path
) -> Path:
    """Build one wheel into an empty folder below `work`, as this machine's linker leaves it."""
    out = work / "made"
    shutil.rmtree(out, ignore_errors=True)
    command = [str(python), "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", ".", "-w"]
    command += [str(out), f"-Cbuild-dir={work / 'build'}"]
    command += [f"-Ccmake.define.{setting}" for setting in settings]
    if version == STABLE:
        command.append("-Cwheel.py-api=cp{}{}".format(*STABLE))
    run(command, log, target(version, architecture))
    (wheel,) = out.glob("*.whl")
    return wheel


def repair(wheel: Path, architecture: str, out: Path, log: Path) -> None:
    """Check that `wheel` runs where it is to run, name it accordingly, and put it into `out`."""
    made = wheel.parent / "repaired"
    auditwheel = [sys.executable, "-m", "auditwheel"]
    # It knows the names of platforms of this architecture alone, but recognizes all.
    run([*auditwheel, "repair", "--plat", "auto", "-w", str(made), str(wheel)], log)
    (repaired,) = made.glob("*.whl")
    if not repaired.stem.endswith(f"manylinux_{GLIBC.replace('.', '_')}_{architecture}"):
        raise SystemExit(f"wheels: {repaired.name}: not for a glibc as old as {GLIBC}")
    size = repaired.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"wheels: {repaired.name}: {size} bytes, more than {MOST_BYTES}")
    kept = out / repaired.name
    shutil.move(str(repaired), str(kept))
    print(f"wheels: {kept.name}: {size / 1e6:.2f} MB", flush=True)
    subprocess.run([*auditwheel, "show", str(kept)], check=True)


def build_for(
    architecture: str, pythons: Mapping[Version, Path], work: Path, out: Path, log: Path
) -> None:
    """Build the wheels for one architecture."""
    settings = compiler(work / "compiler", architecture)
    print(f"wheels: the core for {architecture}", flush=True)
    core = work / "core"
    build_core(core, settings, log)
    # Before 2.40, glibc's part of this way to reach thread-local memory loses registers.
    settings += [f"PELLUCID_PREBUILT={core}", "NB_HAS_MTLS_GNU2=OFF"]
    for version, python in pythons.items():
        name = "{}.{}".format(*version)
        made = build_wheel(python, version, architecture, settings, work / name, log)
        repair(made, architecture, out, log)


def build_drop_in(out: Path, log: Path) -> None:
    """Build the wheel that is installed in place of depyf; it is the same for every Python."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
    run([*command, str(ROOT / "python" / "drop_in"), "-w", str(out)], log)
    (wheel,) = out.glob("depyf-*.whl")
    print(f"wheels: {wheel.name}", flush=True)


def main() -> int:
    """Build everything that `--only` does not leave out; return 1 if a Python was missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "wheels")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    names = ["{}.{}".format(*version) for version in VERSIONS]
    parser.add_argument("--only", choices=[*names, SOURCE], help="what to build (default: all)")
    parser.add_argument("--arch", choices=ARCHITECTURES, help="what for (default: both)")
    arguments = parser.parse_args()
    wanted = [v for v in VERSIONS if arguments.only in (None, "{}.{}".format(*v))]
    architectures = [a for a in ARCHITECTURES if wanted and arguments.arch in (None, a)]
    work, out = arguments.work.resolve(), arguments.out.resolve()
    for folder in (work, out):
        folder.mkdir(parents=True, exist_ok=True)
    log = work / "log.txt"
    log.write_bytes(b"")
    # The tools lie beside the interpreter that runs this.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    found = {v: environment(v, work / "{}.{}".format(*v), log) for v in wanted}
    pythons = {version: python for version, python in found.items() if python is not None}
    for architecture in architectures:
        build_for(architecture, pythons, work / architecture, out, log)
    build_drop_in(out, log)
    if arguments.only in (None, SOURCE):
        run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", str(out)], log)
        (archive,) = out.glob("*.tar.gz")
        print(f"wheels: {archive.name}: {archive.stat().st_size / 1e6:.2f} MB")
    run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(out.glob("*-*")))],
        log,
    )
    missing = ["{}.{}".format(*version) for version in wanted if version not in pythons]
    if missing:
        print(f"wheels: no Python {', '.join(missing)} here, so no wheel for it", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
