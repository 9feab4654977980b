# SPDX-License-Identifier: Apache-2.0
"""One entry of the gallery: its program is run once under a capture, and its folder written.

A folder holds the program, `run.py`, what the program returned when it was compiled
(`recorded.json`), and the dump with its page. `python making/build.py FOLDER` captures one rank.
"""

import gc
import json
import os
import shutil
import subprocess
import sys
import time
import types
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, List

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.forked import in_process

from making.entries import Entry

Record = Dict[str, Any]
GALLERY = Path(__file__).resolve().parents[1]
_REASONS = ("not run", "no version fits")
STATES = {0: "identical", 1: "differs", 2: "not run"}
_RUN = '''\
"""{title}

Run this capture by its files, without torch.compile: `python run.py`. Status 0: bit for bit what
the compiled program gave. 1: something differs. 2: it cannot be run by its files; it says why.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from replay import run  # noqa: E402

if __name__ == "__main__":
    sys.exit(run(HERE))
'''


def build(entry: Entry, out: Path, timeout: int) -> Record:
    """Build the folder of an entry; return what is known of it."""
    folder = out / entry.kind / entry.name.replace("/", "_")
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "program.py").write_text(entry.source, encoding="utf-8")
    (folder / "run.py").write_text(_RUN.format(title=entry.title), encoding="utf-8")
    record: Record = {"name": entry.name, "kind": entry.kind, "family": entry.family}
    record.update(title=entry.title, about=entry.about, backend=entry.backend)
    record["folder"] = folder.relative_to(out).as_posix()

    def work() -> Iterator[Record]:
        _captured(entry, folder, timeout)
        yield {"built": True}
        yield described(folder)

    made, error, killed = in_process(work, timeout)
    if error or killed or made is None or "frames" not in made:
        why = error or killed or "nothing came of it"
        return {**record, "replay": "not built", "why": why.replace(str(folder), "")}
    record.update(made)
    record["build_s"] = round(time.monotonic() - started, 1)
    record.update(replayed(folder, timeout))
    record["bytes"] = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    return record


def _captured(entry: Entry, folder: Path, timeout: int) -> None:
    import pellucid

    if entry.ranks == 1:
        recorded = [capture(folder)]
    else:
        from replay.command import in_ranks

        statuses = in_ranks([sys.executable, __file__, str(folder)], entry.ranks, timeout)
        if any(statuses):
            raise RuntimeError(f"the ranks ended with {statuses}")
        files = [folder / f"recorded_{rank}.json" for rank in range(entry.ranks)]
        recorded = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        for file in files:
            file.unlink()
    text = json.dumps(recorded, indent=1) + "\n"
    (folder / "recorded.json").write_text(text, encoding="utf-8")
    pellucid.report(folder / "dump")


def capture(folder: Path) -> Record:
    """Run the program of a folder under a capture, in this process."""
    import pellucid
    import torch
    from replay.command import load_program
    from replay.results import results

    torch.set_num_threads(1)
    program = load_program(folder / "program.py")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pellucid.prepare_debug(folder / "dump", calls=True) as session:
            returned = program.main()
            calls = {key.slug: count for key, count in session.calls().items() if count}
            left = left_functions()
    return {"threads": 1, "calls": calls, "left": left, "results": results(returned)}


def left_functions() -> Dict[str, Record]:
    """The resume functions for which torch made no code, by their global names."""
    import pellucid

    found: Dict[str, Record] = {}
    scopes = {id(f.__globals__): f.__globals__ for f in gc.get_objects() if type(f) is _FUNCTION}
    for scope in scopes.values():
        for name, value in list(scope.items()):
            if (
                isinstance(name, str)
                and name.startswith("__resume_at_")
                and type(value) is _FUNCTION
            ):
                code = value.__code__
                if (
                    value.__name__ == "_make_fn"
                ):  # torch makes the function of its closure variables
                    cells = [cell.cell_contents for cell in value.__closure__ or ()]
                    code = next(c for c in cells if isinstance(c, types.CodeType))
                found[name] = {"source": pellucid.decompile(code), "free": list(code.co_freevars)}
    return found


_FUNCTION = types.FunctionType


def described(folder: Path) -> Record:
    """What the metadata and the index say of a capture; of ranks, all together."""
    from pellucid.dump.model.events import Graph
    from pellucid.dump.store.load import load_all
    from pellucid.findings import find_all
    from pellucid.findings.counts import counts_of

    captures = load_all(folder / "dump")
    counts = counts_of(captures, find_all(captures))
    shown = ("frames", "graphs", "breaks", "recompiles")
    record: Record = {**{name: getattr(counts, name) for name in shown}, "nodes": 0}
    operations = set()
    for capture in captures:
        for graph in (graph for graph in capture.of(Graph) if graph.stage == "captured"):
            called = [n for n in capture.nodes(graph.file) if n.op.startswith("call_")]
            record["nodes"] += len(called)
            operations |= {node.target.rpartition(".")[2] for node in called}
    record["operations"] = sorted(operations)
    record["findings"] = findings(folder / "dump")
    return record


def findings(dump: Path) -> List[Record]:
    """The findings of a dump's report, as the index shows them."""
    captures = json.loads((dump / "findings.json").read_text(encoding="utf-8"))["captures"]
    found = {}
    for capture in captures:
        for finding in capture["findings"]:
            kept = {key: finding[key] for key in ("id", "kind", "cause", "remedy")}
            found[finding["id"]] = kept
    return list(found.values())


def replayed(folder: Path, timeout: int) -> Record:
    """Run an entry's run.py as anybody would, in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "run.py"]
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=timeout, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"replay": "not run", "why": f"more than {timeout} s"}
    lines = done.stdout.strip().splitlines()
    record: Record = {"said": lines, "run_s": round(time.monotonic() - started, 1)}
    if "Traceback" in done.stderr:
        return {**record, "replay": "not run", "why": done.stderr.strip().splitlines()[-1]}
    record["replay"] = STATES.get(done.returncode, "not run")
    if done.returncode:
        told = [line for line in lines if line.strip().startswith(_REASONS)]
        record["why"] = (told or lines or ["it ended without a word"])[0].strip()
    return record


def main() -> int:
    """Capture one rank of a folder; its place in the job is in the environment."""
    folder = Path(sys.argv[1])
    record = capture(folder)
    path = folder / f"recorded_{os.environ['RANK']}.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
