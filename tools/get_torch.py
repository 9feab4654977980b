# SPDX-License-Identifier: Apache-2.0
"""Give an environment PyTorch, without gigabytes of CUDA where there is no GPU.

    python tools/get_torch.py [--given PYTHON] [--exact] [REQUIREMENT]

A torch that the running interpreter can import is used, or else one of PYTHON, the interpreter that
the environment was made with; `--exact` asks for REQUIREMENT all the same. Otherwise it is
installed: on a machine with a GPU the build that PyPI has, else the CPU build from PyTorch's own
index, and where that cannot be reached, PyPI's without the libraries of CUDA (hollow.py). One line
says what is done.
"""

import argparse
import glob
import os
import platform
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Callable, Optional, Tuple

import hollow

# TORCH_INDEX names another place for the builds without CUDA.
INDEX = os.environ.get("TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
# What a slow network may take to answer; nobody waits longer than that for one that never does.
PATIENCE = 8.0
OLDEST = (2, 4)

Run = Callable[..., None]

_VERSION = "import torch; print(torch.__version__)"
# Where the packages of an interpreter lie that are not part of it.
_SITES = """
import os, sys
for path in sys.path:
    if os.path.basename(path) in ("site-packages", "dist-packages"):
        print(path)
"""
_REQUIRED = """
import importlib.metadata, re
for line in importlib.metadata.requires("torch") or []:
    if not re.match(r"nvidia|cuda|triton", line):
        print(line)
"""
_LIBRARIES = """
import importlib.util, os
print(os.path.join(os.path.dirname(importlib.util.find_spec("torch").origin), "lib"))
"""
# What torch.distributed imports below Python 3.10, where the standard library has less of it.
_UNLISTED = 'importlib_metadata; python_version < "3.10"'


def has_gpu() -> bool:
    """Say whether this machine has a GPU that CUDA can use."""
    return any(glob.glob(place) for place in ("/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/dxg"))


def version_of(python: str) -> "Optional[str]":
    """Return the version of the torch that an interpreter imports, if it is recent enough."""
    done = subprocess.run(
        [python, "-c", _VERSION],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    version = done.stdout.decode().strip()
    if done.returncode != 0 or _numbers(version) < OLDEST:
        return None
    return version


def _numbers(version: str) -> "Tuple[int, ...]":
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def lend(given: str, python: str) -> bool:
    """Let `python`, an environment made with `given`, import what is installed for that."""
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    own = subprocess.check_output([python, "-c", ask]).decode().strip()
    entry = Path(own, "torch_of_the_given_python.pth")
    entry.write_bytes(subprocess.check_output([given, "-c", _SITES]))
    if version_of(python) is not None:
        return True
    entry.unlink()
    return False


def reaches(index: str) -> bool:
    """Say whether an index of packages answers."""
    try:
        with urllib.request.urlopen(f"{index.rstrip('/')}/torch/", timeout=PATIENCE) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


def install(python: str, requirement: str, run: Run, say: "Callable[[str], None]") -> None:
    """Install a torch that suits this machine; `run` runs a command or ends the program."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if sys.platform != "linux" or has_gpu():
        say(f"installing {requirement} (this is the long step)")
        run(*pip, requirement, "numpy")
        return
    if platform.machine() in ("x86_64", "aarch64") and reaches(INDEX):
        say(f"installing {requirement} for the CPU from PyTorch's own index, as there is no GPU")
        try:
            run(*pip, "--index-url", INDEX, requirement)
            run(*pip, "numpy")
            return
        except SystemExit:
            pass  # that release has no such build
    say(f"installing {requirement} without the libraries of CUDA, as there is no GPU")
    install_hollow(python, requirement, run)


def install_hollow(python: str, requirement: str, run: Run) -> None:
    """Install the torch that pip finds by itself, and what it needs but for CUDA."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run(*pip, "--no-deps", requirement)
    listed = subprocess.check_output([python, "-c", _REQUIRED]).decode().splitlines()
    run(*pip, "numpy", "setuptools", _UNLISTED, *listed)
    hollow.fill(Path(subprocess.check_output([python, "-c", _LIBRARIES]).decode().strip()))
    run(python, "-c", "import torch")


def _run(*command: str) -> None:
    status = subprocess.run(command, check=False).returncode
    if status != 0:
        raise SystemExit(f"make: failed: {' '.join(command)}")


def main() -> int:
    """Give the running interpreter's environment a torch."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("requirement", nargs="?", default="torch")
    parser.add_argument("--given", help="the interpreter that the environment was made with")
    parser.add_argument("--exact", action="store_true", help="not any torch that is there")
    options = parser.parse_args()

    def say(what: str) -> None:
        print(f"make: {what}", flush=True)

    if not options.exact:
        version = version_of(sys.executable)
        if version is not None:
            say(f"using the PyTorch {version} that is installed")
            return 0
        version = version_of(options.given) if options.given else None
        if version is not None and lend(options.given, sys.executable):
            say(f"using the PyTorch {version} of {options.given}")
            return 0
    install(sys.executable, options.requirement, _run, say)
    return 0


if __name__ == "__main__":
    sys.exit(main())
