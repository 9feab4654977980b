# SPDX-License-Identifier: Apache-2.0
"""Compile real models with and without pellucid, and compare: `python -m zoo --help`, in gallery.

Each model, and each of inference and training, runs in a process of its own:

1. eager, with seeded weights and inputs;
2. compiled without pellucid: what cannot be compiled here is told apart;
3. compiled under `prepare_debug`: outputs, and in training the gradients, must be bit for bit those
   of step 2, and so must torch's counts of frames, graph breaks and recompiles; every transformed
   frame must be proven, run from its file, and have no statement without effect; every dumped file
   must compile; pellucid may not warn;
4. with `--depyf`, where depyf is installed: the same under `depyf.prepare_debug`.

The results are lines of JSON, appended as they come; a second run goes on where the first stopped.
"""

import argparse
import collections
import contextlib
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, List

from .forked import in_process

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

Record = Dict[str, Any]


def examined(name: str, mode: str, arguments: argparse.Namespace) -> Record:
    """Examine a model in a fork."""

    def work() -> Iterator[Record]:
        from .model_run import examine  # not before torch: --report needs none

        return examine(name, mode, arguments)

    what = {"model": name, "mode": mode}
    record, error, killed = in_process(work, arguments.timeout)
    if error:
        return {**what, "status": "harness", "why": error}
    record = record or {**what, "status": "not built"}
    return {**record, "why": killed} if killed else record


def table(records: List[Record]) -> str:
    """The results as text: counts, then what is not as it should be."""
    order = ["ok", "short of it", "wrong", "alone", "eager", "not compiled", "not built", "harness"]
    say = {
        "alone": "ends without pellucid, not with it",
        "eager": "compiling does not end",
        "short of it": "equal, but a frame unproven or a file invalid",
    }
    lines = []
    for key in sorted({(r["model"].split("/")[0], r["mode"]) for r in records}):
        group = [r for r in records if (r["model"].split("/")[0], r["mode"]) == key]
        count = collections.Counter(r["status"] for r in group)
        frames = [sum(r.get(k, 0) for r in group) for k in ("proven", "frames", "files")]
        lines.append(
            f"{key[0]}, {key[1]}: {len(group)} models: "
            + ", ".join(f"{count[s]} {say.get(s, s)}" for s in order if count[s])
            + f"; frames proven and run from files {frames[0]}/{frames[1]}, files {frames[2]}"
        )
        theirs = [r for r in group if "depyf" in r]
        if theirs:
            full = sum(len({*r["depyf"].split("/")}) == 1 and r["depyf_equal"] for r in theirs)
            wrong = sum(not r["depyf_equal"] for r in theirs)
            frames = [sum(int(r["depyf"].split("/")[k]) for r in theirs) for k in (0, 1)]
            invalid = [
                sum(int(r.get("depyf_invalid", "0/0").split("/")[k]) for r in theirs)
                for k in (0, 1)
            ]
            lines.append(
                f"  depyf: every frame read and equal {full}/{len(theirs)}, wrong {wrong}; frames "
                f"{frames[0]}/{frames[1]}, files that do not compile {invalid[0]}/{invalid[1]}"
            )
            reasons = collections.Counter(r["depyf_why"] for r in theirs if r.get("depyf_why"))
            lines += [f"    {count} {why}" for why, count in reasons.most_common()]
    times = sorted(
        r["ours_s"] / r["alone_s"] for r in records if r.get("alone_s", 0) >= 1 and "ours_s" in r
    )
    if times:
        lines.append(f"time with pellucid over time without: median {times[len(times) // 2]:.2f}")
    for record in records:
        if record["status"] != "ok":
            lines.append(
                f"{record['model']} ({record['mode']}): {record['status']}: {record.get('why', '')}"
            )
    return "\n".join(lines)


def main() -> int:
    """Run the models of a list, or those named; return how many are worse than without us."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="SUITE/NAME; see gallery/zoo/catalogue.py")
    parser.add_argument("--list", choices=["families", "architectures"], help="models of a list")
    parser.add_argument("--file", type=Path, help="a list of lines NAME<tab>SUITE")
    parser.add_argument("--mode", default="inference,training")
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--out", type=Path, default=Path("models.jsonl"))
    parser.add_argument("--timeout", type=int, default=90, help="seconds a model and mode")
    parser.add_argument("--budget", type=int, default=10**6, help="seconds in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="take each Nth model")
    parser.add_argument("--depyf", action="store_true", help="depyf beside, where it is installed")
    parser.add_argument(
        "--report", action="store_true", help="print the table of --out, run nothing"
    )
    arguments = parser.parse_args()
    done: List[Record] = []
    if arguments.out.exists():
        done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    if not arguments.report:
        _run_all(arguments, done)
    print(table(done))
    return min(100, sum(record["status"] in ("wrong", "short of it", "alone") for record in done))


def _run_all(arguments: argparse.Namespace, done: List[Record]) -> None:
    _quiet()
    known = {(record["model"], record["mode"]) for record in done}
    names = list(arguments.names)
    if arguments.file:
        rows = [row.split("\t") for row in arguments.file.read_text().splitlines()]
        names += [
            f"{row[1].strip()}/{row[0]}" for row in rows if len(row) == 2 and row[0][0] != "#"
        ]
    if arguments.list:
        from . import catalogue

        names += catalogue.names(arguments.list, arguments.seed)
    until = time.monotonic() + arguments.budget
    with arguments.out.open("a") as out:
        for name in names[:: arguments.every]:
            for mode in arguments.mode.split(","):
                if (name, mode) in known or time.monotonic() > until:
                    continue
                record = examined(name, mode, arguments)
                done.append(record)
                out.write(json.dumps(record) + "\n")
                out.flush()
                frames = f"{record.get('proven', '-')}/{record.get('frames', '-')}"
                why = str(record.get("why", ""))[:90]
                print(f"{name:48} {mode:9} {record['status']:12} {frames:7} {why}", flush=True)


def _quiet() -> None:
    """Import once what every fork needs, and keep it from talking."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import torch
    import torch._dynamo

    from . import catalogue

    torch.set_num_threads(1)
    catalogue.make_torchvision_import()
    catalogue.make_torchaudio_import()
    for module in _USED:
        with contextlib.suppress(ImportError):
            __import__(module)
    torch.compile(torch.sin, backend="eager")(torch.ones(2))  # which imports the rest of Dynamo
    torch._dynamo.reset()


_USED = (
    "depyf",
    "timm",
    "torchvision",
    "transformers",
    "transformers.models.auto.modeling_auto",
    "pellucid.torch.capture.connection",
    "zoo.model_run",
)


if __name__ == "__main__":
    sys.exit(main())
