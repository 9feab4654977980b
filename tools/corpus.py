# SPDX-License-Identifier: Apache-2.0
"""Decompile whole standard libraries of every CPython found and count the verdicts.

`corpus.py 3.11` takes one version, `--sample 60` so many files of each (the same ones every time),
`--out DIR` keeps what was decompiled. The library, its tests included, is compiled by the
interpreter it belongs to; nothing of it is run. JUDGE=path/to/judge.py (a program that takes two
`.pyc` and exits with 0 if they mean the same) asks for a second opinion on each file that is
proven: "unsound" counts those that the judge calls different.

`--gate tests/corpus_gate.json` fails when a share is below what was reached, `--raise-gate` writes
what has been reached now.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

import oracle
from pellucid import batch
from pellucid.inputs import Job

# Compiles the files named on standard input to .pyc files in the folder argv[1], mirroring argv[2];
# says which release it is.
_COMPILE = """
import os, py_compile, sys, warnings
warnings.simplefilter("ignore")
out, root = sys.argv[1:3]
for path in sys.stdin.read().splitlines():
    to = os.path.join(out, os.path.relpath(path, root)) + "c"
    try:
        py_compile.compile(path, to, doraise=True, optimize=0, quiet=2)
    except Exception:
        pass
print("%d.%d.%d" % sys.version_info[:3])
"""


class Verdicts(NamedTuple):
    """What was said about one file."""

    name: str
    outcome: str  # identical, equivalent, unproven, incomplete, error
    codes: int
    proven: int
    reason: str
    judged_different: str


class Count(NamedTuple):
    """The figures of one version."""

    release: str
    files: int
    good_files: int
    codes: int
    good_codes: int
    unsound: int

    @property
    def shares(self) -> "Dict[str, float]":
        """Return the shares that are proven, in per cent, rounded down."""
        files = int(100_000 * self.good_files / max(1, self.files)) / 1000
        codes = int(100_000 * self.good_codes / max(1, self.codes)) / 1000
        return {"files": files, "code_objects": codes}


def standard_library(python: Path) -> Path:
    """Return the folder of an interpreter's standard library."""
    asked = [str(python), "-I", "-c", "import os; print(os.path.dirname(os.__file__))"]
    return Path(subprocess.check_output(asked).decode().strip())


def sources(root: Path, sample: Optional[int], seed: int) -> List[Path]:
    """Return the library's files, or some of them; not what was installed beside it."""
    aside = {"site-packages", "__pycache__"}
    found = [p for p in sorted(root.rglob("*.py")) if not aside & set(p.relative_to(root).parts)]
    if sample is not None:
        # A hash of the name, not a place in the list: another release has nearly the same sample.
        chosen = [(random.Random(f"{seed} {p.relative_to(root)}").random(), p) for p in found]
        found = sorted(path for _, path in sorted(chosen)[:sample])
    return found


def compiled(python: Path, root: Path, files: List[Path], base: Path) -> str:
    """Compile `files` of `root` to `.pyc` files below `base`; return the release that did so."""
    command = [str(python), "-I", "-c", _COMPILE, str(base), str(root)]
    names = "\n".join(map(str, files)).encode()
    return subprocess.check_output(command, input=names).decode().strip()


def verdict_on(path: Path, base: Path, out: Optional[Path], judge: Optional[str]) -> Verdicts:
    """Decompile one file and say what came of it."""
    name = str(path.relative_to(base))
    target = (out / name).with_suffix(".py") if out else None
    result = batch.decompile_file(Job(path, target), batch.Options(verify="recompiled"))
    found, verdict = result.decompilation, result.verdict
    if found is None or verdict is None:
        return Verdicts(name, "error", 0, 0, result.error or "", "")
    refused = [each for each in found.diagnostics if each.refused]
    if refused:
        reason = f"refused: {refused[0].message}"
    else:
        reason = verdict.reason.split(": ", 1)[-1].split(" at byte")[0]
    bad = {d.code for d in refused}
    proven = sum(c.status != "unproven" and c.code not in bad for c in verdict.codes)
    different = ""
    if judge and result.outcome in ("identical", "equivalent"):
        version = "{}.{}".format(*found.version)
        different = oracle.ask_judge(judge, path.read_bytes(), found.source, version)
    codes = max(len(verdict.codes), 1)
    return Verdicts(name, result.outcome, codes, proven, reason, different)


def measured(
    version: str, sample: Optional[int], seed: int, out: Optional[Path], reasons: int
) -> Count:
    """Compile, decompile and count one version's library; print what there is to say."""
    python, judge = oracle.interpreter(version), oracle.judge_from_environment()
    assert python is not None
    root = standard_library(python)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        release = compiled(python, root, sources(root, sample, seed), base)
        files = sorted(base.rglob("*.pyc"))
        keep = out / version if out else None
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda p: verdict_on(p, base, keep, judge), files))
    counts = collections.Counter(each.outcome for each in found)
    count = Count(
        release,
        len(found),
        counts["identical"] + counts["equivalent"],
        sum(each.codes for each in found),
        sum(each.proven for each in found),
        sum(bool(each.judged_different) for each in found),
    )
    row = " ".join(f"{counts[kind]:10}" for kind in _KINDS)
    unsound = f"{count.unsound:8}" if judge else "       -"
    shares = count.shares
    print(
        f"{version:5} {len(found):6} {row} {unsound} {shares['files']:8.2f} "
        f"{shares['code_objects']:8.3f}",
        flush=True,
    )
    for each in found:
        if each.judged_different:
            print(f"      UNSOUND {each.name}: {each.judged_different}")
    kinds: Dict[str, List[str]] = collections.defaultdict(list)
    for each in found:
        if each.outcome not in ("identical", "equivalent"):
            kinds[each.reason].append(each.name)
    for reason, those in sorted(kinds.items(), key=lambda item: -len(item[1]))[:reasons]:
        print(f"      {len(those):4}  {reason}  ({those[0]})")
    return count


_KINDS = ["identical", "equivalent", "unproven", "incomplete", "error"]


def below_gate(count: Count, gate: "Dict[str, object]") -> List[str]:
    """Return what is worse than what was reached; another release, with other files, may be so."""
    allowed = 0.0 if count.release == gate.get("release") else 1.0
    worse = []
    for name, share in count.shares.items():
        reached = gate.get(name, 0.0)
        assert isinstance(reached, float)
        if share < reached - allowed:
            worse.append(f"{name}: {share} % proven, {reached} % had been reached")
    return worse + ["the judge disagrees"] * bool(count.unsound)


def main(argv: Optional[List[str]] = None) -> int:
    """Print a line a version; with --reasons, the commonest reasons of what is not proven."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*", default=oracle.VERSIONS)
    parser.add_argument("--sample", type=int, metavar="FILES")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--reasons", type=int, default=0, metavar="N")
    parser.add_argument("--gate", type=Path)
    parser.add_argument("--raise-gate", action="store_true")
    arguments = parser.parse_args(argv)
    gates = {}
    if arguments.gate and arguments.gate.exists():
        gates = json.loads(arguments.gate.read_text())
    key = "whole" if arguments.sample is None else f"sample of {arguments.sample}"
    heads = " ".join(f"{kind:>10}" for kind in _KINDS)
    print(f"{'':5}  files {heads}  unsound  % files  % codes")
    status = 0
    for version in oracle.found_versions(arguments.versions):
        count = measured(
            version, arguments.sample, arguments.seed, arguments.out, arguments.reasons
        )
        gate = gates.setdefault(version, {}).setdefault(key, {})
        for worse in below_gate(count, gate) if arguments.gate else []:
            print(f"      BELOW THE GATE: {worse}")
            status = 1
        gate.update({"release": count.release, **count.shares})
    if arguments.gate and arguments.raise_gate and status == 0:
        arguments.gate.write_text(json.dumps(gates, indent=1, sort_keys=True) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
