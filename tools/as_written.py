# SPDX-License-Identifier: Apache-2.0
"""Say how far what is decompiled is what was written: functions, files and lines.

`as_written.py 3.12` decompiles that version's standard library and compares each text with its
source: the share of functions and of whole files with exactly the same syntax tree, and of lines as
`ast.unparse` prints them. Neither layout nor comments nor `1 << 10` for `1024` count;
`tools/same_tree.py` says what else does not.

`--sample 40` takes so many files, `--show WORD` prints the differences of the files whose name
holds the word, `--worst N` names the files with most of them. `--causes N` prints the N most
frequent differences of trees, each with the kinds of nodes that differ, how often, in how many
functions, and an example; `--cause WORD` prints all of those whose kinds hold the word.
`--binary PATH` asks a native binary, so that two builds can be compared.
`--gate tests/corpus_gate.json` fails where fewer functions, files or lines are as written than was
reached, `--raise-gate` writes what has been reached now.

A proof says that a text means the same; this says how far it is the same. Not everything that was
written is in the bytecode (an annotation of a local leaves nothing), so the shares are measures to
raise, not ones that end at 100 %: docs/ambiguities.md lists what cannot be told.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import corpus
import oracle
from pellucid import batch
from pellucid.inputs import Job
from same_tree import Cause, Comparison

# Those that can fold constants; the first one that can parse both texts compares them. 3.13 folds
# most: later ones leave some of it to what comes after the tree.
_FOLDING = ("3.13", "3.15", "3.14")

# Another release of a version has other lines in its library.
_OTHER_RELEASE = {"as_written": 0.3, "same_functions": 0.5, "same_files": 5.0}


class Reading(NamedTuple):
    """How one file reads."""

    name: str
    found: Comparison


class Shares(NamedTuple):
    """What part of everything is as it was written, in per cent."""

    same_functions: float
    same_files: float
    as_written: float  # lines


def compared(pairs: Sequence[Tuple[Path, Path]], version: str) -> "List[Optional[Comparison]]":
    """Compare each pair of source and text; None stands for one that nobody can parse."""
    answers: List[Optional[Comparison]] = [None] * len(pairs)
    interpreters = [oracle.interpreter(each) for each in _FOLDING]
    assert any(interpreters), "as_written needs CPython 3.13 or later, whose ast folds constants"
    for python in filter(None, interpreters):
        left = [i for i, answer in enumerate(answers) if answer is None]
        asked = [[*map(str, pairs[i]), oracle.parsed(version)] for i in left]
        lines = "".join(json.dumps(each) + "\n" for each in asked).encode()
        script = str(Path(__file__).with_name("same_tree.py"))
        said = subprocess.check_output([str(python), "-I", script], input=lines).splitlines()
        for i, line in zip(left, map(json.loads, said)):
            answers[i] = line and Comparison(*line)
    return answers


def decompiled(base: Path, names: List[Path], texts: Path, binary: Optional[Path]) -> None:
    """Decompile the files of `names`, which lie in `base` as `.pyc`, into `texts`."""
    if binary is not None:
        command = [str(binary), "decompile", "--jobs", "2", "-o", str(texts), str(base)]
        subprocess.run(command, capture_output=True, check=False)
        return
    for name in names:
        batch.decompile_file(Job((base / name).with_suffix(".pyc"), texts / name), batch.Options())


def readings(
    version: str, sample: Optional[int], seed: int, word: str = "", binary: Optional[Path] = None
) -> List[Reading]:
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
        decompiled(base, names, texts, binary)
        names = [name for name in names if (texts / name).exists()]
        found = compared([(root / name, texts / name) for name in names], version)
    return [Reading(str(name), each) for name, each in zip(names, found) if each is not None]


def shares(found: List[Reading]) -> Shares:
    """Return what is as it was written."""

    def part(good: int, of: int) -> float:
        return 100 * good / max(of, 1)

    all_of = [each.found for each in found]
    lines = sum(each.lines for each in all_of)
    return Shares(
        part(sum(each.same_functions for each in all_of), sum(each.functions for each in all_of)),
        part(sum(not each.causes for each in all_of), len(all_of)),
        part(lines - sum(each.differ for each in all_of), lines),
    )


def print_causes(found: List[Reading], most: int, word: str) -> None:
    """Print the differences of trees, those in most functions first."""
    sorted_by: Dict[str, List[Tuple[str, Cause]]] = collections.defaultdict(list)
    for each in found:
        for cause in map(Cause._make, each.found.causes):
            sorted_by[cause.signature].append((each.name, cause))

    def functions(cases: List[Tuple[str, Cause]]) -> int:
        return len({(name, cause.function) for name, cause in cases})

    ranked = sorted(sorted_by.items(), key=lambda entry: -functions(entry[1]))
    for signature, cases in ranked[: None if word else most]:
        if word not in signature:
            continue
        print(f"      {len(cases):5} in {functions(cases):5} functions  {signature}")
        for name, cause in cases[: None if word else 1]:
            print(f"            {name}:{cause.line} {cause.function}")
            print("\n".join(f"            - {each}" for each in cause.written.splitlines()))
            print("\n".join(f"            + {each}" for each in cause.read.splitlines()))


def keep_gate(gate: Dict[str, float], reached: Shares) -> bool:
    """Compare with what had been reached, and put down what has been reached now."""
    kept = True
    for what, now in reached._asdict().items():
        before = gate.get(what, 0.0)
        if now < before - _OTHER_RELEASE[what]:
            print(f"      BELOW THE GATE: {what} had been {before} %, and is {now:.2f} %")
            kept = False
        gate[what] = round(now, 2)
    return kept


def row(version: str, found: List[Reading]) -> str:
    """Return a line of the table."""
    all_of = [each.found for each in found]
    reached = shares(found)
    functions = sum(each.functions for each in all_of)
    return (
        f"{version:5} {len(found):6} {reached.same_files:6.2f} {functions:10} "
        f"{functions - sum(each.same_functions for each in all_of):6} "
        f"{reached.same_functions:6.2f} {sum(each.lines for each in all_of):8} "
        f"{sum(each.differ for each in all_of):6} {reached.as_written:6.2f}"
    )


def main(argv: Optional[List[str]] = None) -> int:
    """Print a line a version."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*", default=oracle.VERSIONS)
    parser.add_argument("--sample", type=int, metavar="FILES")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", default="", metavar="WORD")
    parser.add_argument("--worst", type=int, default=0, metavar="N")
    parser.add_argument("--causes", type=int, default=0, metavar="N")
    parser.add_argument("--cause", default="", metavar="WORD")
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--gate", type=Path)
    parser.add_argument("--raise-gate", action="store_true")
    asked = parser.parse_args(argv)
    gates = json.loads(asked.gate.read_text()) if asked.gate else {}
    key = "whole" if asked.sample is None else f"sample of {asked.sample}"
    status = 0
    print(f"{'':5}  files % same  functions differ % same    lines differ % same")
    for version in oracle.found_versions(asked.versions):
        found = readings(version, asked.sample, asked.seed, asked.show, asked.binary)
        print(row(version, found), flush=True)
        for each in sorted(found, key=lambda each: -each.found.differ)[: asked.worst]:
            print(f"      {each.found.differ:6} of {each.found.lines:6}  {each.name}")
        for each in found if asked.show else []:
            print("\n".join([f"      {each.name}", *each.found.difference]))
        if asked.causes or asked.cause:
            print_causes(found, asked.causes, asked.cause)
        gate = gates.setdefault(version, {}).setdefault(key, {})
        if not keep_gate(gate, shares(found)) and asked.gate:
            status = 1
    if asked.raise_gate and status == 0:
        asked.gate.write_text(json.dumps(gates, indent=1, sort_keys=True) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
