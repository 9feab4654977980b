# SPDX-License-Identifier: Apache-2.0
"""Build the gallery: `python gallery --help`, from the root of the repository."""

import argparse
import fcntl
import json
import logging
import os
import random
import shutil
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, List

GALLERY = Path(__file__).resolve().parent
sys.path.insert(0, str(GALLERY))

from making import metadata  # noqa: E402
from making.build import build  # noqa: E402
from making.entries import Entry, entries  # noqa: E402
from making.index import write_index  # noqa: E402

Record = Dict[str, Any]


def main() -> int:
    """Build what is asked for; return how many entries are other than the metadata says."""
    arguments = _parser().parse_args()
    known = entries(GALLERY / "models.txt")
    chosen = choose(known, arguments.names, arguments.sample, arguments.seed)
    if arguments.list:
        print("\n".join(f"{e.name:36} {e.kind:9} {e.family:12} {e.title}" for e in chosen))
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    for package in ("replay", "zoo"):
        shutil.copytree(GALLERY / package, arguments.out / package, dirs_exist_ok=True)
    before = read_built(arguments.out)
    asked = [entry.name for entry in chosen]
    if arguments.resume:
        done = {name for name, record in before.items() if record["replay"] != "not built"}
        chosen = [entry for entry in chosen if entry.name not in done]
    _quiet(any(entry.kind == "models" for entry in chosen))
    started = time.monotonic()
    built = _build_all(chosen, arguments)
    records = {**before, **{record["name"]: record for record in built}}
    write_index([records[e.name] for e in known if e.name in records], arguments.out)
    if arguments.update:
        metadata.update([records[name] for name in asked if name in records])
    told = summary(built, time.monotonic() - started)
    print(told)
    print(f"the index: {arguments.out / 'index.html'}")
    return 0 if arguments.update else min(100, _other(built))


def choose(known: List[Entry], names: List[str], sample: int, seed: int) -> List[Entry]:
    """The entries of these names, families or kinds (of all, unless any is given), or a sample."""
    words = set(names)
    unknown = words - {word for e in known for word in (e.name, e.family, e.kind)}
    if unknown:
        raise SystemExit(f"no entry, family or kind: {', '.join(sorted(unknown))}")
    chosen = [e for e in known if not words or words & {e.name, e.family, e.kind}]
    chosen.sort(key=lambda e: names.index(e.name) if e.name in words else len(names))
    if sample and sample < len(chosen):
        drawn = set(random.Random(seed).sample([e.name for e in chosen], sample))
        chosen = [e for e in chosen if e.name in drawn]
    return chosen


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gallery", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="entries, families, or `programs`, `models`")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N of them, by chance")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=1, help="entries side by side")
    parser.add_argument("--timeout", type=int, default=900, help="seconds an entry")
    parser.add_argument("--budget", type=int, default=10**6, help="seconds in all")
    parser.add_argument("--out", type=Path, default=Path("build/gallery"))
    parser.add_argument("--resume", action="store_true", help="leave what is built already")
    parser.add_argument("--update", action="store_true", help="what is there is as expected")
    parser.add_argument("--list", action="store_true", help="name them, build nothing")
    return parser


def read_built(out: Path) -> Dict[str, Record]:
    """What was built into a folder before, by name."""
    path = out / "built.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {record["name"]: record for record in map(json.loads, lines)}


def _build_all(chosen: List[Entry], arguments: argparse.Namespace) -> List[Record]:
    """Build entries, in as many forks as are asked for; a line is printed for each."""
    until = time.monotonic() + arguments.budget
    if arguments.jobs <= 1:
        return list(_built(chosen, arguments, until))
    path = arguments.out / "built.jsonl"
    before = len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0
    forks = []
    for number in range(arguments.jobs):
        child = os.fork()
        if child == 0:
            list(_built(chosen[number :: arguments.jobs], arguments, until))
            os._exit(0)
        forks.append(child)
    for child in forks:
        os.waitpid(child, 0)
    after = path.read_text(encoding="utf-8").splitlines()[before:]
    return [*map(json.loads, after)]


def _built(chosen: List[Entry], arguments: argparse.Namespace, until: float) -> Iterator[Record]:
    for entry in chosen:
        if time.monotonic() > until:
            return
        record = build(entry, arguments.out.resolve(), arguments.timeout)
        with (arguments.out / "built.jsonl").open("a", encoding="utf-8") as lines:
            fcntl.flock(lines, fcntl.LOCK_EX)
            lines.write(json.dumps(record) + "\n")
        kinds = ", ".join(sorted({finding["kind"] for finding in record.get("findings", ())}))
        told = f"{record.get('build_s', 0):6} s  {kinds} {record.get('why', '')[:80]}"
        print(f"{entry.name:36} {record['replay']:10} {told}", flush=True)
        yield record


def _other(built: List[Record]) -> int:
    """Print what is other than the metadata says; return of how many entries."""
    expected = metadata.read()
    here = metadata.versions()
    if here != {key: expected[key] for key in here}:
        print(f"nothing is compared: the metadata is of {expected['python']}, {expected['torch']}")
        return 0
    count = 0
    for record in built:
        found = metadata.differences(record, expected["entries"].get(record["name"], {}))
        count += bool(found)
        for line in found:
            print(line)
    return count


def summary(built: List[Record], seconds: float) -> str:
    """The figures of what was built, in a line for each kind."""
    lines = []
    for kind in dict.fromkeys(record["kind"] for record in built):
        group = [record for record in built if record["kind"] == kind]
        states = [record["replay"] for record in group]
        counted = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(sorted(states)))
        size = sum(record.get("bytes", 0) for record in group) / 1e6
        lines.append(f"{len(group)} {kind}: run by their files: {counted}; {size:.1f} MB")
    return "\n".join([*lines, f"{seconds / 60:.1f} minutes"])


def _quiet(models: bool) -> None:
    """Import once what every fork needs, and keep it from talking."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    for cache in ("FX_GRAPH", "AUTOGRAD"):  # what is in a cache shows no stages, and is a finding
        os.environ[f"TORCHINDUCTOR_{cache}_CACHE"] = "0"
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import pellucid.torch.capture.connection  # noqa: F401
    import torch
    import torch._dynamo

    torch.set_num_threads(1)
    torch.compile(torch.sin, backend="aot_eager")(torch.ones(2))  # imports the rest of Dynamo
    torch._dynamo.reset()
    if models:
        from zoo import catalogue

        catalogue.make_torchvision_import()
        catalogue.make_torchaudio_import()


if __name__ == "__main__":
    sys.exit(main())
