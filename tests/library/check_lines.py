# SPDX-License-Identifier: Apache-2.0
"""Check `--keep-lines`: the (function, line) pairs of the recompiled code against the original's.

`check_lines.py PYTHON FILE.pyc...` decompiles each file with its lines kept, has PYTHON (of the
files' version) compile the text, and compares which lines each code object has instructions on.
It prints the share of pairs that both have; `--show N` the first N code objects that differ.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, NamedTuple

# Runs under the version's own interpreter: argv holds a .pyc and a text for each file.
_WORKER = r"""
import dis, marshal, sys, types

def lines(code):
    if sys.version_info >= (3, 10):
        return {line for _, _, line in code.co_lines() if line}
    return {line for _, line in dis.findlinestarts(code)}

def pairs(code):
    found = {}
    todo = [(code.co_name, code)]
    while todo:
        path, code = todo.pop()
        # Two lambdas of one scope have the same path; their lines are taken together.
        found.setdefault(path, set()).update(lines(code))
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                todo.append((path + "/" + const.co_name, const))
    return found

def show(numbers):
    return ",".join(map(str, sorted(numbers))) or "-"

paths = sys.stdin.read().splitlines()
for pyc, text in zip(paths[::2], paths[1::2]):
    with open(pyc, "rb") as file:
        original = pairs(marshal.loads(file.read()[16:]))
    try:
        with open(text, "rb") as file:
            source = file.read().decode("utf-8", "surrogatepass")
        again = pairs(compile(source, pyc, "exec", dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        print("file", pyc, "error", 0, 0, 0, sep="\t")
        continue
    both = union = equal = 0
    for path in set(original) | set(again):
        old, new = original.get(path, set()), again.get(path, set())
        both += len(old & new)
        union += len(old | new)
        equal += old == new
        if old != new:
            print("code", pyc, path, show(old - new), show(new - old), sep="\t")
    print("file", pyc, both, union, equal, len(set(original) | set(again)), sep="\t")
"""


class Agreement(NamedTuple):
    """How far lines agree over some files."""

    files: int
    failed: int  # do not compile
    pairs: int  # (function, line), those of both
    all_pairs: int  # those of either
    codes: int  # code objects with the same lines
    all_codes: int
    differences: List[str]

    @property
    def share(self) -> float:
        """Return the share of pairs that both have."""
        return self.pairs / max(1, self.all_pairs)


def check(python: str, files: List[Path]) -> Agreement:
    """Decompile, recompile and compare."""
    from pellucid import DecompileError, decompile_pyc

    with tempfile.TemporaryDirectory() as folder:
        asked: List[str] = []
        for number, path in enumerate(files):
            try:
                source = decompile_pyc(path.read_bytes(), keep_lines=True).source
            except DecompileError:
                continue
            text = Path(folder, f"{number}.py")
            text.write_bytes(source.encode("utf-8", "surrogatepass"))
            asked += [str(path), str(text)]
        done = subprocess.run(
            [python, "-I", "-W", "ignore", "-c", _WORKER],
            input="\n".join(asked).encode(),
            stdout=subprocess.PIPE,
            check=True,
        )
    failed = len(files) - len(asked) // 2
    counts = [0, 0, 0, 0]
    differences = []
    for line in done.stdout.decode().splitlines():
        kind, *fields = line.split("\t")
        if kind == "code":
            differences.append("{}: {}: lost {}, new {}".format(*fields))
        elif fields[1] == "error":
            failed += 1
        else:
            counts = [have + int(more) for have, more in zip(counts, fields[1:])]
    return Agreement(len(files), failed, *counts, differences)


def main() -> int:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("python")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    found = check(arguments.python, arguments.files)
    print("\n".join(found.differences[: arguments.show]))
    print(
        f"{found.files} files ({found.failed} not comparable): {100 * found.share:.2f} % of "
        f"{found.all_pairs} lines, {100 * found.codes / max(1, found.all_codes):.2f} % of "
        f"{found.all_codes} code objects"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
