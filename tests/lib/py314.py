"""CPython 3.14 as one process for a whole test run: the WebAssembly build, run by node.

Starting it takes seconds, so every test asks the same process (tests/node/serve.py).
"""

import functools
import json
import subprocess
from typing import Any, Dict

from needs import ROOT, need

VERSION = (3, 14)
# The magic number of 3.14, and flags, time and size that nobody reads.
_PYC_HEADER = (3627).to_bytes(2, "little") + b"\r\n" + bytes(12)


class Python314:
    """The process; made by `python314()`."""

    def __init__(self, node: str, pyodide: str) -> None:
        folder = ROOT / "tests" / "node"
        command = [node, str(folder / "py314.mjs"), pyodide, str(folder / "serve.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, **request: Any) -> Dict[str, Any]:
        """Send a request and return the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process of CPython 3.14 died")
        answer: Dict[str, Any] = json.loads(line)
        return answer

    def marshalled(self, source: str, optimize: int = 0) -> bytes:
        """Compile a module. Raises SyntaxError."""
        answer = self.ask(do="compile", source=source, optimize=optimize)
        if "error" in answer:
            raise SyntaxError(answer["error"])
        return bytes.fromhex(answer["code"])

    def pyc(self, source: str, optimize: int = 0) -> bytes:
        """Compile a module to the bytes of a `.pyc` file. Raises SyntaxError."""
        return _PYC_HEADER + self.marshalled(source, optimize)

    def tree(self, source: str) -> str:
        """Return the dump of a module's syntax tree. Raises SyntaxError."""
        answer = self.ask(do="parse", source=source)
        if "error" in answer:
            raise SyntaxError(answer["error"])
        return str(answer["tree"])

    def verdict(self, pyc: bytes, source: str) -> str:
        """Say how far pellucid proves that `source` means what `pyc` does."""
        from pellucid import _core

        try:
            marshalled = self.marshalled(source)
        except SyntaxError as error:
            return f"unproven: {error}"
        status, codes = _core.compare_pyc(pyc, marshalled)
        reasons = [f"{c[1]}: {c[2]} at byte 0x{c[3]:x}" for c in codes if c[0] == "unproven"]
        return f"unproven: {reasons[0]}" if reasons else status


@functools.lru_cache(maxsize=None)
def _started(node: str, pyodide: str) -> Python314:
    return Python314(node, pyodide)


def python314() -> Python314:
    """Return the process of this test run, or end the test where node or its package is missing."""
    return _started(str(need("node")), str(need("pyodide")))
