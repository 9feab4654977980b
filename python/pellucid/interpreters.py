# SPDX-License-Identifier: Apache-2.0
"""Find CPython interpreters of other versions on this machine, and compile text with them.

Nothing from a `.pyc` is ever executed: an interpreter that is found here only compiles the text
that pellucid printed, in isolated mode, and hands back the marshalled code.
"""

import atexit
import contextlib
import functools
import glob
import marshal
import os
import shutil
import struct
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

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

# Answers for as long as it is asked: lengths of file name and text, both; status, length, answer.
_SERVE = """
import marshal, struct, sys
ask, answer = sys.stdin.buffer, sys.stdout.buffer
while True:
    head = ask.read(8)
    if len(head) < 8:
        break
    name, size = struct.unpack("<II", head)
    filename = ask.read(name).decode("utf-8", "surrogatepass")
    text = ask.read(size).decode("utf-8", "surrogatepass")
    try:
        code = compile(text, filename, "exec", dont_inherit=True, optimize=0)
        status, data = 0, marshal.dumps(code)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        status, data = 1, f"{type(error).__name__}: {error}".encode("utf-8", "replace")
    answer.write(struct.pack("<BI", status, len(data)) + data)
    answer.flush()
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


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Silence the compiler's warnings, and convert its exceptions to SyntaxError.

    What it warns of was written by the original's author. It has other errors for surrogates in a
    docstring, numbers that are too long, and nesting that is too deep.
    """
    # Warning filters belong to the process, so only one thread at a time may change them.
    try:
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"{type(error).__name__}: {error}") from error


def compile_to_marshal(source: str, version: Version, filename: str = "<pellucid>") -> bytes:
    """Compile a module's text with the CPython of `version` and return the marshalled code.

    Raises LookupError if there is no such interpreter, SyntaxError if it refuses the text.
    """
    if version == sys.version_info[:2]:
        with compiling():
            code = compile(source, filename, "exec", dont_inherit=True, optimize=0)
        return marshal.dumps(code)
    interpreter = find_interpreter(version)
    if interpreter is None:
        raise LookupError(f"no CPython {version[0]}.{version[1]} on this machine")
    with _idle_lock:
        idle = _idle.setdefault(interpreter, [])
        compiler = idle.pop() if idle else None
    if compiler is None:
        compiler = _Compiler(interpreter)
    status, answer = compiler.ask(source, filename)
    if compiler.is_usable():
        with _idle_lock:
            idle.append(compiler)
    else:
        compiler.stop()
    if status != 0:
        raise SyntaxError(answer.decode(errors="replace"))
    return answer


class _Compiler:
    """An interpreter that compiles one text after the other: starting it takes longer than that."""

    # What one of them may have leaked or fragmented is given back now and then.
    _MOST_TEXTS = 1000

    def __init__(self, interpreter: Path) -> None:
        self._process = subprocess.Popen(
            [str(interpreter), "-I", "-S", "-W", "ignore", "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._texts = 0

    def ask(self, source: str, filename: str) -> Tuple[int, bytes]:
        """Return 0 and the marshalled code, or another status and the reason."""
        assert self._process.stdin is not None and self._process.stdout is not None
        name = filename.encode("utf-8", "surrogatepass")
        text = source.encode("utf-8", "surrogatepass")
        self._texts += 1
        try:
            self._process.stdin.write(struct.pack("<II", len(name), len(text)) + name + text)
            self._process.stdin.flush()
            head = self._process.stdout.read(5)
            if len(head) == 5:
                status, size = struct.unpack("<BI", head)
                answer = self._process.stdout.read(size)
                if len(answer) == size:
                    return status, answer
        except OSError:
            pass
        # A text can be too deep for the C stack of an old compiler.
        self._texts = self._MOST_TEXTS
        return 2, f"the compiler ended with status {self._process.wait()}".encode()

    def is_usable(self) -> bool:
        """Say whether it may be asked again."""
        return self._texts < self._MOST_TEXTS

    def stop(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._process.communicate()


_idle: Dict[Path, List[_Compiler]] = {}
_idle_lock = threading.Lock()
_warnings_lock = threading.Lock()


def _forget_all() -> None:
    """In a forked child: the pipes belong to the parent."""
    global _idle_lock
    _idle_lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


@atexit.register
def _stop_all() -> None:
    for compilers in _idle.values():
        for compiler in compilers:
            compiler.stop()
    _idle.clear()
