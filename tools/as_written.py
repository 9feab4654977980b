# SPDX-License-Identifier: Apache-2.0
"""Count how many lines of what is decompiled are not the lines that were written.

`as_written.py 3.12` decompiles that version's standard library and compares each text with its
source, both printed by `ast.unparse` after constant folding, so that neither layout nor comments
nor `1 << 10` for `1024` count. `--sample 40` takes so many files, `--show WORD` prints the
differences of the files whose name holds the word, `--worst N` names the files with most of them.
`--gate tests/corpus_gate.json` fails where fewer lines read as written than was reached,
`--raise-gate` writes what has been reached now.

A proof says that a text means the same; this says how far it reads the same. Not everything that
was written is in the bytecode (an `else` behind a `return` leaves nothing), so the share is a
measure to raise, not one that ends at 100 %.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple

import corpus
import oracle
from pellucid import batch
from pellucid.inputs import Job

# Runs under an interpreter whose `ast.parse` folds constants (3.13): pairs of paths on standard
# input, for each [lines written, lines written that are not in the text, the difference].
_COMPARE = """
import ast, difflib, inspect, json, sys, warnings
warnings.simplefilter("ignore")
sys.setrecursionlimit(20000)

def lines(path):
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), optimize=1)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node, clean=False):  # 3.13 strips them when it compiles
                node.body[0].value.value = inspect.cleandoc(node.body[0].value.value).strip()
    return ast.unparse(tree).splitlines()

for pair in sys.stdin:
    try:
        written, read = map(lines, json.loads(pair))
    except (SyntaxError, ValueError, RecursionError):
        print("null")
        continue
    opcodes = difflib.SequenceMatcher(None, written, read, autojunk=False).get_opcodes()
    lost = sum(b - a for what, a, b, _, _ in opcodes if what != "equal")
    added = sum(d - c for what, _, _, c, d in opcodes if what != "equal")
    shown = list(difflib.unified_diff(written, read, "written", "read", lineterm="", n=2))
    print(json.dumps([len(written), max(lost, added), shown if lost or added else []]))
"""


# Another release of a version has other lines in its library.
_OTHER_RELEASE = 0.3


class Reading(NamedTuple):
    """How one file reads."""

    name: str
    lines: int  # of the source, as `ast.unparse` prints it
    differ: int
    difference: List[str]


def compared(pairs: List[Tuple[Path, Path]]) -> "List[Optional[Tuple[int, int, List[str]]]]":
    """Return (lines, lines that differ, the difference) for each pair of source and text.

    None stands for a pair that the newest interpreter cannot parse.
    """
    python = oracle.interpreter("3.13")
    assert python is not None, "as_written needs CPython 3.13, whose ast module folds constants"
    asked = "".join(json.dumps([str(a), str(b)]) + "\n" for a, b in pairs)
    said = subprocess.check_output([str(python), "-I", "-c", _COMPARE], input=asked.encode())
    return [json.loads(line) for line in said.splitlines()]


def readings(version: str, sample: Optional[int], seed: int, word: str = "") -> List[Reading]:
    """Decompile one version's library, or a sample of it, and compare it with what was written."""
    python = oracle.interpreter(version)
    assert python is not None, f"no CPython {version}"
    root = corpus.standard_library(python)
    chosen = [p for p in corpus.sources(root, sample, seed) if word in str(p.relative_to(root))]
    with tempfile.TemporaryDirectory() as folder:
        base, texts = Path(folder, "pyc"), Path(folder, "text")
        corpus.compiled(python, root, chosen, base)
        names = [p.relative_to(root) for p in chosen]
        names = [name for name in names if (base / name).with_suffix(".pyc").exists()]
        for name in names:
            job = Job((base / name).with_suffix(".pyc"), texts / name)
            batch.decompile_file(job, batch.Options())
        found = compared([(root / name, texts / name) for name in names])
    return [Reading(str(n), *each) for n, each in zip(names, found) if each is not None]


def share(found: List[Reading]) -> float:
    """Return how many lines of a hundred read as they were written."""
    lines = sum(each.lines for each in found)
    return 100 * (1 - sum(each.differ for each in found) / max(lines, 1))


def main(argv: Optional[List[str]] = None) -> int:
    """Print a line a version."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*", default=oracle.VERSIONS)
    parser.add_argument("--sample", type=int, metavar="FILES")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", default="", metavar="WORD")
    parser.add_argument("--worst", type=int, default=0, metavar="N")
    parser.add_argument("--gate", type=Path)
    parser.add_argument("--raise-gate", action="store_true")
    arguments = parser.parse_args(argv)
    gates = json.loads(arguments.gate.read_text()) if arguments.gate else {}
    key = "whole" if arguments.sample is None else f"sample of {arguments.sample}"
    status = 0
    print(f"{'':5}  files  wholly    lines   differ  % as written")
    for version in oracle.found_versions(arguments.versions):
        found = readings(version, arguments.sample, arguments.seed, arguments.show)
        lines, differ = sum(each.lines for each in found), sum(each.differ for each in found)
        wholly = sum(not each.differ for each in found)
        print(
            f"{version:5} {len(found):6} {wholly:7} {lines:8} {differ:8} {share(found):13.2f}",
            flush=True,
        )
        for each in sorted(found, key=lambda each: -each.differ)[: arguments.worst]:
            print(f"      {each.differ:6} of {each.lines:6}  {each.name}")
        for each in found if arguments.show else []:
            print("\n".join([f"      {each.name}", *each.difference]))
        gate = gates.setdefault(version, {}).setdefault(key, {})
        reached = gate.get("as_written", 0.0)
        if arguments.gate and share(found) < reached - _OTHER_RELEASE:
            print(f"      BELOW THE GATE: {reached} % of the lines had read as they were written")
            status = 1
        gate["as_written"] = round(share(found), 2)
    if arguments.raise_gate and status == 0:
        arguments.gate.write_text(json.dumps(gates, indent=1, sort_keys=True) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
