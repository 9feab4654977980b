# SPDX-License-Identifier: Apache-2.0
"""What an entry's run.py does."""

import contextlib
import importlib.util
import io
import json
import os
import socket
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Dict, List

import torch

from .compiler import Compiler
from .files import CannotReplay, Files
from .results import results

SAME, DIFFERS, NOT_RUN = 0, 1, 2


def load_program(path: Path) -> types.ModuleType:
    """Import an entry's program, under the name that it has while it is captured, too."""
    spec = importlib.util.spec_from_file_location("program", path)
    if spec is None or spec.loader is None:
        raise CannotReplay(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    return module


def run(folder: Path) -> int:
    """Run an entry by its files; say whether it does what it did when it was compiled."""
    recorded = json.loads((folder / "recorded.json").read_text(encoding="utf-8"))
    if "RANK" not in os.environ and len(recorded) > 1:
        statuses = in_ranks([sys.executable, str(folder / "run.py")], len(recorded))
        return NOT_RUN if min(statuses) < 0 else max(statuses)
    rank = int(os.environ["RANK"]) if len(recorded) > 1 else 0
    dump = folder / "dump" / f"rank_{rank}" if len(recorded) > 1 else folder / "dump"
    return _run(folder / "program.py", dump, recorded[rank])


def _run(program: Path, dump: Path, recorded: Dict[str, Any]) -> int:
    torch.set_num_threads(recorded["threads"])
    compiler = Compiler(Files(dump), recorded["left"], recorded["calls"])
    torch.compile = compiler.compile  # type: ignore[assignment]
    try:
        module = load_program(program)
        compiler.put_trampolines()
        with contextlib.redirect_stdout(io.StringIO()):  # what the program prints
            found = results(module.main())
    except CannotReplay as error:
        print(f"not run: {error}")
        return NOT_RUN
    wanted = recorded["results"]
    differing = [key for key in {**wanted, **found} if wanted.get(key) != found.get(key)]
    print(f"{len(wanted)} results, {len(differing)} of them differ")
    for key in differing:
        print(f"  {key}: {wanted.get(key)} when compiled, {found.get(key)} here")
    calls = {slug: count for slug, count in compiler.calls.items() if slug != "eager"}
    ran = [f"{count} {kind}" for kind, count in sorted(compiler.graphs.ran.items())]
    print(f"{sum(calls.values())} calls of transformed code; graphs called: {', '.join(ran) or 0}")
    if calls != recorded["calls"]:
        print(f"  versions called: {recorded['calls']} when compiled, {calls} here")
    for refusal, count in compiler.refusals.items():
        print(f"  no version fits, {count} times in {refusal}")
    if recorded["calls"] and not calls:
        print("not run: none of the transformed code was called")
        return NOT_RUN
    compiled = _compiled_frames()
    if compiled:
        print(f"torch compiled {compiled} frames, though nothing is to be compiled here")
    return DIFFERS if differing or compiled else SAME


def _compiled_frames() -> int:
    """How many frames torch says that it has looked at in this process."""
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["frames"]["total"])


def in_ranks(command: List[str], count: int, timeout: int = 300) -> List[int]:
    """Run a command once for each rank, side by side; return the statuses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    started = [
        subprocess.Popen(command, env={**os.environ, **shared, "RANK": str(rank)})
        for rank in range(count)
    ]
    try:
        return [process.wait(timeout) for process in started]
    finally:
        for process in started:
            process.kill()
