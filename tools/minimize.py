# SPDX-License-Identifier: Apache-2.0
"""Shrink a program that fails to a smallest one that fails in the same way, into tests/regress.

`minimize.py FILE.py --python 3.12` takes a source, `minimize.py FILE.pyc` what was compiled: its
own text if that fails alike, else its smallest code object that does. It fails if it is refused,
does not compile again, is unproven, or (with JUDGE=path/to/judge.py) is different for the judge.
Give the result a name that says the behaviour: `--name walrus_in_a_lambda_default`.
"""

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import List, Optional

import oracle
from oracle import Failure
from pellucid import DecompileError, _core, decompile_pyc

REGRESS = oracle.ROOT / "tests" / "regress"

# Prints the code objects of the .pyc on standard input as .pyc files in hex, the smallest first.
_NESTED = """
import marshal, sys, types
data = sys.stdin.buffer.read()
todo = [marshal.loads(data[16:])]
for code in todo:
    todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
for code in sorted(todo, key=lambda c: len(marshal.dumps(c))):
    print((data[:16] + marshal.dumps(code)).hex())
"""


def smallest_code(pyc: bytes, version: str, failure: Failure) -> bytes:
    """Return the smallest code object of a `.pyc` that fails alike, as a `.pyc`."""
    command = [str(oracle.interpreter(version)), "-I", "-c", _NESTED]
    done = subprocess.run(command, input=pyc, stdout=subprocess.PIPE, check=True)
    for line in done.stdout.split():
        candidate = bytes.fromhex(line.decode())
        found = oracle.failure_of(candidate)
        if found is not None and found[:2] == failure[:2]:
            return candidate
    return pyc


def written(text: "str | bytes", name: Optional[str], header: str) -> Path:
    """Write the result below tests/regress and return its path."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    stem = name or hashlib.sha256(data).hexdigest()[:12]
    path = REGRESS / (stem + (".py" if isinstance(text, str) else ".pyc"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header.encode() + data if isinstance(text, str) else data)
    return path


def main(argv: Optional[List[str]] = None) -> int:
    """Print what fails and where the minimal program went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("--python", metavar="VERSION", help="for a source (default: this Python's)")
    parser.add_argument("--name", help="of the file below tests/regress, without suffix")
    arguments = parser.parse_args(argv)
    judge = oracle.judge_from_environment()
    data = arguments.file.read_bytes()
    try:
        if arguments.file.suffix == ".pyc":
            version = "{}.{}".format(*_core.pyc_version(data))
            pyc, source = data, decompile_pyc(data).source
        else:
            version = arguments.python or "{}.{}".format(*sys.version_info[:2])
            source = data.decode("utf-8")
            pyc = oracle.pyc_of(source, version)
    except (DecompileError, SyntaxError) as error:
        print(f"minimize: {arguments.file}: {error}", file=sys.stderr)
        return 1
    failure = oracle.failure_of(pyc, judge)
    if failure is None:
        print(f"minimize: {arguments.file}: nothing fails with {version}", file=sys.stderr)
        return 1
    print(f"{failure.kind}: {failure.detail}")
    if oracle.fails_alike(source, version, failure, judge):
        small = oracle.minimized(source, version, failure, judge)
        path = written(small, arguments.name, f"# python: {version}\n")
    else:
        path = written(smallest_code(pyc, version, failure), arguments.name, "")
    print(f"wrote {path.relative_to(oracle.ROOT)} ({path.stat().st_size} bytes)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
