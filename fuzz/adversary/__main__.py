# SPDX-License-Identifier: Apache-2.0
"""An adversary: it changes code objects, and holds the verdict on each against what it does.

    python fuzz/adversary --python 3.11 --seed 1 --tries 2000       # both tiers
    python fuzz/adversary --python 3.11 --replay 1:1234             # one try again, with its text

Small functions of every construct, and functions of the library, are changed in one to three
places: arguments, opcodes, prefixes, jumps, names, cells, constants, flags, counts, tables. What a
tier calls proven is run beside its text, by the interpreter of its version, in a child each. What
that interpreter crashes on, or does not end, is no counterexample. A verdict that execution
contradicts is false: its file is kept in the folder that `--keep` names, and the exit code is 1.
"""

import argparse
import collections
import dataclasses
import functools
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Counter, List, NamedTuple, Optional, Sequence, Tuple

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tools"))

TIERS = {"recompiled": ["recompiled"], "relowered": ["relowered"], "live": ["live"]}
TIERS["both"] = ["recompiled", "relowered"]
TIERS["strict"] = ["strict"]


class Child:
    """The interpreter whose code is changed (child.py)."""

    def __init__(self, python: str, functions: str) -> None:
        self._process = subprocess.Popen(
            [python, "-X", "utf8", str(HERE / "child.py"), functions],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, *request: Any) -> Any:
        """Return the answer to one request."""
        assert self._process.stdin is not None and self._process.stdout is not None
        data = pickle.dumps(request, protocol=4)
        self._process.stdin.write(struct.pack("<I", len(data)) + data)
        self._process.stdin.flush()
        head = self._process.stdout.read(4)
        if len(head) < 4:
            raise SystemExit(f"adversary: the child ended with status {self._process.wait()}")
        return pickle.loads(self._process.stdout.read(*struct.unpack("<I", head)))

    def stop(self) -> None:
        """End the process."""
        self._process.communicate()


class False_(NamedTuple):
    """A verdict that is false."""

    number: int
    tier: str
    program: str
    changed: str
    original: str
    text_does: str
    text: str
    data: bytes


class Adversary:
    """Tries on one version."""

    def __init__(self, options: argparse.Namespace, version: Tuple[int, int], python: str) -> None:
        from pellucid.decompilation import _file, prove_pyc

        # With the verdict of the tier that takes the same tree.
        self._file = functools.partial(_file, forms={}, layout={}, unstructured=False, relower=True)
        self._prove = prove_pyc
        self._options = options
        self._version = version
        self._child = Child(python, options.functions)
        # Live code has no spies; what is proven strictly is interrupted.
        of_tier = {"live": "known", "strict": "endless "}.get(options.tier, "")
        self._wanted = options.program or of_tier
        self.counts: Counter[str] = collections.Counter()
        self.found: List[False_] = []

    def run(self) -> None:
        """Make all tries."""
        seed, tries = self._options.seed, self._options.tries
        for first in range(0, tries, self._options.batch):
            count = min(self._options.batch, tries - first)
            self.batch(self._child.ask("make", seed, first, count, self._wanted))
        self._child.stop()

    def replay(self, number: int) -> None:
        """Make one try, and tell all of it."""
        self.batch(self._child.ask("make", self._options.seed, number, 1, self._wanted), tells=True)
        self._child.stop()

    def batch(
        self, made: Sequence[Optional[Tuple[int, bytes, str, str]]], tells: bool = False
    ) -> None:
        """Judge some changed modules, and run what is called proven."""
        tried = [one for one in made if one is not None]
        self.counts["tried"] += len(tried)
        if self._options.tier == "live":
            self.live(tried)
            return
        proven: List[Tuple[Tuple[int, bytes, str, str], List[Tuple[str, str]]]] = []
        for one in tried:
            # What no form proves takes most of the time, and finds least.
            searches = tells or one[0] % self._options.search == 0
            texts = self.texts(one[1], tells, searches)
            if texts:
                proven.append((one, texts))
        # Both tiers have the same text mostly.
        distinct = [list(dict.fromkeys(text for _, text in texts)) for _, texts in proven]
        request = [(one[1], one[2], run) for (one, _), run in zip(proven, distinct)]
        answered = self._child.ask("run", request)
        for (one, texts), run, (original, answers) in zip(proven, distinct, answered):
            if tells:
                print(f"-- the code does\n{original}")
            if not answers:
                self.counts["no run"] += 1
                continue
            self.counts["ran"] += 1
            for tier, text in texts:
                does = answers[run.index(text)]
                self.counts[f"proven {tier}"] += 1
                if does:
                    number, data, program, changed = one
                    self.tell(False_(number, tier, program, changed, original, does, text, data))

    def texts(self, data: bytes, tells: bool, searches: bool) -> List[Tuple[str, str]]:
        """Return the text of each tier that proves one; `searches`: in any of its forms."""
        from pellucid import DecompileError

        found = []
        usual = None
        for tier in TIERS[self._options.tier]:
            try:
                if searches:
                    decompiled, verdict = self._prove(data, tier, version=self._version)
                else:
                    usual = usual or self._file(data, version=self._version)
                    strict = tier == "strict"
                    usual = dataclasses.replace(usual, _strict=True) if strict else usual
                    decompiled, verdict = usual, usual.verify("recompiled" if strict else tier)
            except DecompileError:
                self.counts[f"refused {tier}"] += 1
                continue
            if tells:
                print(f"-- {tier}: {verdict}\n{decompiled.source}")
            if verdict.status != "unproven" and verdict.tier in (tier, "recompiled"):
                found.append((tier, decompiled.source))
        return found

    def live(self, tried: Sequence[Tuple[int, bytes, str, str]]) -> None:
        """Let the child judge the code of functions with the pellucid that it has."""
        answers = self._child.ask("live", [(data, name) for _, data, name, _ in tried])
        for (number, data, program, changed), answer in zip(tried, answers):
            status, original, does, text = answer or ("crashed", "", "", "")
            if status == "proven":
                self.counts["ran"] += 1
                self.counts["proven live"] += 1
            elif status == "died":
                self.counts["no run"] += 1
            if does:
                self.tell(False_(number, "live", program, changed, original, does, text, data))

    def tell(self, one: False_) -> None:
        """Print a false verdict and keep its file."""
        self.counts[f"false {one.tier}"] += 1
        self.found.append(one)
        name = "{}.{}".format(*self._version)
        print(
            f"FALSE {name} {self._options.seed}:{one.number} {one.tier}", one.program, one.changed
        )
        a, b = one.original, one.text_does
        start = max(0, next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), 0) - 40)
        print(f"  the code: {a[start : start + 200]}\n  the text: {b[start : start + 200]}")
        if self._options.keep:
            folder = Path(self._options.keep)
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}-{self._options.seed}-{one.number}-{one.tier}"
            Path(f"{path}.marshal").write_bytes(one.data)
            text = one.text.encode("utf-8", "backslashreplace")
            Path(f"{path}.py").write_bytes(text)


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="adversary", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", nargs="+", default=[], metavar="3.N", help="all that are found")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--tier", choices=sorted(TIERS), default="both", help="live: build/hosts")
    parser.add_argument("--functions", default="", metavar="FILE", help="with another SMALL")
    parser.add_argument("--program", default="", help="change this one alone")
    parser.add_argument("--replay", default="", metavar="SEED:NUMBER")
    parser.add_argument("--keep", default="", metavar="FOLDER")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument(
        "--search", type=int, default=16, metavar="N", help="all forms, 1 of N tries"
    )
    return parser.parse_args()


def interpreter_of(version: Tuple[int, int], tier: str) -> Optional[str]:
    """Return a Python of a version, for live code one that has pellucid."""
    from pellucid.interpreters import find_interpreter

    if tier == "live" and version != sys.version_info[:2]:
        host = HERE.parents[1] / "build" / "hosts" / "{}.{}".format(*version) / "bin" / "python"
        return str(host) if host.exists() else None
    found = find_interpreter(version)
    return str(found) if found else None


def main() -> int:
    """Run the tries that are asked for; say what came of them."""
    from pythons import VERSIONS, minor

    options = arguments()
    status = 0
    for name in options.python or VERSIONS:
        version = (3, minor(name))
        python = interpreter_of(version, options.tier)
        if python is None:
            print(f"{name}: no such Python")
            continue
        if options.replay:
            options.seed, number = (int(part) for part in options.replay.split(":"))
        adversary = Adversary(options, version, python)
        if options.replay:
            adversary.replay(number)
        else:
            adversary.run()
        counts = ", ".join(f"{count} {what}" for what, count in sorted(adversary.counts.items()))
        print(f"{name}: {counts}; {len(adversary.found)} false", flush=True)
        status = status or int(bool(adversary.found))
    return status


if __name__ == "__main__":
    sys.exit(main())
