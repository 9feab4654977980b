# SPDX-License-Identifier: Apache-2.0
"""Count statements whose own place contradicts their nesting, without looking at the source.

`layout_judge.py 3.13` decompiles that version's standard library. From 3.11 on, instructions have
the columns that their statements were written in: the statements of one suite start in one column,
and those of a suite inside it further right. Where a text has two in one suite that started in
different columns, or one inside that did not start further right, it is not laid out as it was
written. A proof says nothing about that, and `tools/as_written.py` needs the source.

Only statements that start with an instruction are judged, and only if they are alone on their
line. `--sample 40` takes so many files, `--show N` prints the first N contradictions. `--gate
tests/corpus_gate.json` fails if there are more than before, `--raise-gate` writes how many there
are now.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

import corpus
import oracle
from pellucid import decompile_pyc

_VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
# Runs in the interpreter of the version: only that one reads the positions of its code.
_SCRIPT = Path(__file__).with_name("layout_places.py")


class Judged(NamedTuple):
    """What was found in the texts of one version."""

    files: int
    statements: int
    contradictions: List[str]


def judged(version: str, sample: Optional[int], seed: int) -> Judged:
    """Decompile one version's library, or a sample of it, and judge each text."""
    python = oracle.interpreter(version)
    assert python is not None, f"no CPython {version}"
    root = corpus.standard_library(python)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        corpus.compiled(python, root, corpus.sources(root, sample, seed), base)
        asked = []
        for path in sorted(base.rglob("*.pyc")):
            found = decompile_pyc(path.read_bytes())
            asked.append([str(path), found.source, [list(entry) for entry in found.line_map]])
        lines = "".join(json.dumps(each) + "\n" for each in asked).encode()
        said = subprocess.check_output([str(python), "-I", str(_SCRIPT)], input=lines)
    statements, found = 0, []
    for (path, _, _), line in zip(asked, map(json.loads, said.splitlines())):
        statements += line[0]
        name = Path(path).relative_to(base).with_suffix("")
        found += [f"{name}:{at}: {what}" for at, what in line[1]]
    return Judged(len(asked), statements, found)


def main(argv: Optional[List[str]] = None) -> int:
    """Print a line per version."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*", default=list(_VERSIONS))
    parser.add_argument("--sample", type=int, metavar="FILES")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, metavar="N")
    parser.add_argument("--gate", type=Path)
    parser.add_argument("--raise-gate", action="store_true")
    asked = parser.parse_args(argv)
    gates: Dict[str, Dict[str, Dict[str, float]]] = {}
    if asked.gate:
        gates = json.loads(asked.gate.read_text())
    key = "whole" if asked.sample is None else f"sample of {asked.sample}"
    status = 0
    print(f"{'':5}  files  statements  contradictions")
    for version in oracle.found_versions(asked.versions):
        found = judged(version, asked.sample, asked.seed)
        count = len(found.contradictions)
        print(f"{version:5} {found.files:6} {found.statements:11} {count:15}", flush=True)
        for each in found.contradictions[: asked.show]:
            print(f"      {each}")
        gate = gates.setdefault(version, {}).setdefault(f"layout, {key}", {})
        before = gate.get("contradictions", count)
        if count > before and asked.gate:
            print(f"      ABOVE THE GATE: there were {before} contradictions")
            status = 1
        gate["contradictions"] = count
    if asked.raise_gate and status == 0:
        asked.gate.write_text(json.dumps(gates, indent=1, sort_keys=True) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
