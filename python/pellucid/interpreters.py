"""Find CPython interpreters of other versions on this machine, and compile text with them.

Nothing from a `.pyc` is ever executed: an interpreter that is found here only compiles the text
that pellucid printed, in isolated mode, and hands back the marshalled code.
"""

import functools
import glob
import marshal
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterator, Optional, Tuple

Version = Tuple[int, int]

# Where version managers keep interpreters, below the home folder or absolute.
_PLACES = (
    "~/.pyenv/versions/{v}*/bin/python{v}",
    "~/.local/share/uv/python/cpython-{v}*/bin/python{v}",
    "~/.local/bin/python{v}",
    "~/miniconda3/envs/*/bin/python{v}",
    "/opt/python/cp{short}-cp{short}/bin/python{v}",
    "/opt/homebrew/bin/python{v}",
    "/usr/local/bin/python{v}",
    "/usr/bin/python{v}",
)

_COMPILE = """
import sys, marshal
source = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
code = compile(source, sys.argv[1], "exec", dont_inherit=True, optimize=0)
sys.stdout.buffer.write(marshal.dumps(code))
"""


@functools.lru_cache(maxsize=None)
def find_interpreter(version: Version) -> Optional[Path]:
    """Return the path of a CPython of `version`, or None.

    The environment variable PELLUCID_PYTHON_<major>_<minor> names one and wins.
    """
    if version == sys.version_info[:2] and sys.executable:
        return Path(sys.executable)
    for candidate in _candidates(version):
        if _is_cpython(candidate, version):
            return Path(candidate)
    return None


def _candidates(version: Version) -> Iterator[str]:
    dotted = f"{version[0]}.{version[1]}"
    named = os.environ.get(f"PELLUCID_PYTHON_{version[0]}_{version[1]}")
    if named:
        yield named
    on_path = shutil.which(f"python{dotted}")
    if on_path:
        yield on_path
    for place in _PLACES:
        pattern = place.format(v=dotted, short=dotted.replace(".", ""))
        # The newest patch release of a version sorts last, by length and then by text.
        yield from sorted(glob.glob(os.path.expanduser(pattern)), key=lambda p: (len(p), p))[::-1]


def _is_cpython(candidate: str, version: Version) -> bool:
    probe = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
    try:
        done = subprocess.run(
            [candidate, "-I", "-S", "-c", probe],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.decode(errors="replace").split() == ["cpython", *map(str, version)]


def compile_to_marshal(source: str, version: Version, filename: str = "<pellucid>") -> bytes:
    """Compile a module's text with the CPython of `version` and return the marshalled code.

    Raises LookupError if there is no such interpreter, SyntaxError if it refuses the text.
    """
    if version == sys.version_info[:2]:
        return marshal.dumps(compile(source, filename, "exec", dont_inherit=True, optimize=0))
    interpreter = find_interpreter(version)
    if interpreter is None:
        raise LookupError(f"no CPython {version[0]}.{version[1]} on this machine")
    done = subprocess.run(
        [str(interpreter), "-I", "-S", "-c", _COMPILE, filename],
        input=source.encode("utf-8", "surrogatepass"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise SyntaxError(lines[-1] if lines else f"exit status {done.returncode}")
    return done.stdout
