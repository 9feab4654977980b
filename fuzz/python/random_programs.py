# SPDX-License-Identifier: Apache-2.0
"""Decompile random programs of every version (pysource-codegen) and count the verdicts.

`python fuzz/python programs --count 2000` shares 2,000 seeds among the versions; `--minimize N`
shrinks the first program of each of the N commonest failures, and `--save DIR` keeps what it found.
`--plain` takes programs of the kind that people write instead (plain_programs.py).
"""

import argparse
import collections
import struct
import subprocess
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import oracle
from oracle import Failure

# Runs under each version, whose syntax it writes: argv is the folder of the generator, the first
# seed, their number, the size and the generator's name. A program that does not compile (the
# generator's business) is left out, and so is one that the compiler itself takes for an error.
_GENERATE = """
import importlib, struct, sys, warnings
warnings.simplefilter("ignore")
sys.path.append(sys.argv[1])
sys.setrecursionlimit(10000)
generator = importlib.import_module(sys.argv[5])
first, count, size = map(int, sys.argv[2:5])
for seed in range(first, first + count):
    try:
        text = generator.generate(seed, node_limit=size, depth_limit=8)
        compile(text, "sample.py", "exec", dont_inherit=True)
        data = text.encode()
    except Exception:
        data = b""
    sys.stdout.buffer.write(struct.pack("<II", seed, len(data)) + data)
    sys.stdout.buffer.flush()
"""


class Failed(NamedTuple):
    """A program that is not what it should be."""

    version: str
    seed: int
    source: str
    failure: Failure


def programs(
    version: str, first: int, count: int, size: int, is_plain: bool
) -> Iterator[Tuple[int, str]]:
    """Yield (seed, text)."""
    folder = str(Path(__file__).parent) if is_plain else oracle.site_packages()
    name = "plain_programs" if is_plain else "pysource_codegen"
    command = [str(oracle.interpreter(version)), "-c", _GENERATE, folder]
    process = subprocess.Popen(
        [*command, str(first), str(count), str(size), name],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process:
        while True:
            head = process.stdout.read(8)
            if len(head) < 8:
                return
            seed, length = struct.unpack("<II", head)
            if length:
                yield seed, process.stdout.read(length).decode()


def main(given: Optional[Sequence[str]] = None) -> int:
    """Print a line a version, then the causes; exit with 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*", default=oracle.VERSIONS)
    parser.add_argument("--count", type=int, default=600, help="over all versions together")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--size", type=int, default=400, help="of a program, in nodes")
    parser.add_argument("--plain", action="store_true", help="programs as people write them")
    parser.add_argument("--minimize", type=int, default=0, metavar="N")
    parser.add_argument("--save", type=Path, metavar="DIR")
    arguments = parser.parse_args(given)
    judge = oracle.judge_from_environment()
    versions = oracle.found_versions(arguments.versions)
    failed: List[Failed] = []
    for version in versions:
        share = arguments.count // len(versions)
        count, bad = 0, []
        for seed, source in programs(
            version, arguments.seed, share, arguments.size, arguments.plain
        ):
            count += 1
            failure = oracle.failure_of(oracle.pyc_of(source, version), judge)
            if failure is not None:
                bad.append(Failed(version, seed, source, failure))
        kinds = collections.Counter(each.failure.kind for each in bad)
        said = (
            ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())) or "none failed"
        )
        share_good = int(1000 * (count - len(bad)) / max(1, count)) / 10
        print(f"{version:5} {count} programs, {share_good} % proven: {said}", flush=True)
        failed += bad
    report(failed, arguments.minimize, arguments.save)
    return 1 if failed else 0


def report(failed: List[Failed], shrink: int, save: "Path | None") -> None:
    """Print the causes, the commonest first, and shrink some."""
    causes: Dict[Tuple[str, str], List[Failed]] = collections.defaultdict(list)
    for each in failed:
        causes[each.failure[:2]].append(each)
    ordered = sorted(causes.items(), key=lambda item: -len(item[1]))
    for number, ((kind, what), group) in enumerate(ordered):
        first = min(group, key=lambda each: len(each.source))
        where = f"{first.version} seed {first.seed}"
        print(f"{len(group):5}  {kind}: {what}  ({where}; {first.failure.detail})")
        if number >= shrink:
            continue
        small = oracle.minimized(first.source, first.version, first.failure)
        print("\n".join("         " + line for line in small.splitlines()), flush=True)
        if save:
            save.mkdir(parents=True, exist_ok=True)
            place = save / f"{first.version}-{first.seed}.py"
            place.write_text(f"# python: {first.version}\n# {kind}: {what}\n{small}")
