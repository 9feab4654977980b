"""Of four ranks the one that compiles something else is named first, with the first difference."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pellucid
import pytest
from pellucid.dump.store.load import load_all
from pellucid.findings import find_all
from support import PROGRAMS, run_env, torch_version

ODD = {"shape": 3, "configuration": 0, "cache": 2, "collectives": 1}
SAID = {
    "shape": "`l_x_: float32[5, 3]` on {odd}, `l_x_: float32[3, 3]` on {usual}",
    "configuration": "specialize_float is True on {odd}",
    "cache": "in the fx graph cache of [0/0]: miss on {odd}, hit on {usual}",
    "collectives": "its collectives in a different order: number 1 is",
}
LINES = {
    "shape": "def total(x):",
    "cache": "def product(x):",
    "collectives": "def exchange_otherwise",
}
USUAL = {0: "ranks 1-3", 1: "ranks 0, 2-3", 2: "ranks 0-1, 3", 3: "ranks 0-2"}


@pytest.fixture(scope="module")
def jobs(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The captures and logs of four jobs of four processes."""
    if torch_version() < (2, 13) or sys.platform != "linux":
        pytest.skip("forks that join a job, and the words of newer torch")
    folder = tmp_path_factory.mktemp("jobs")
    command = [sys.executable, str(PROGRAMS / "diverging.py"), str(folder)]
    command += [f"{kind}:{rank}" for kind, rank in ODD.items()]
    env: Dict[str, str] = {**run_env(), "TORCH_TRACE": str(folder), "GLOO_SOCKET_IFNAME": "lo"}
    subprocess.run(command, check=True, env=env, timeout=300)
    return folder


@pytest.mark.parametrize("of", ["capture", "log"])
@pytest.mark.parametrize("kind", list(ODD))
def test_the_odd_rank_is_named_first(jobs: Path, tmp_path: Path, kind: str, of: str) -> None:
    folder = jobs / kind
    if of == "log":
        folder = tmp_path / "made"
        pellucid.import_log(jobs / f"{kind}.logs", folder)
    odd, usual = f"rank {ODD[kind]}", USUAL[ODD[kind]]
    captures = load_all(folder)
    assert [capture.rank for capture in captures] == [0, 1, 2, 3]
    first, *others = find_all(captures)
    assert first.kind == "ranks" and not [f for f in others if f.kind == "ranks"]
    assert first.cause.startswith(f"{odd} differs from {usual} ")
    assert SAID[kind].format(odd=odd, usual=usual) in first.cause
    assert first.links[0].file == f"rank_{ODD[kind]}"
    line = first.place and (PROGRAMS / "diverging.py").read_text().split("\n")[first.place.line - 1]
    assert (line or "").startswith(LINES.get(kind, ""))
    page = json.loads((pellucid.report(folder).parent / "findings.json").read_text())
    told = page["captures"][0]["findings"][0]
    assert told["kind"] == "ranks" and page["captures"][0]["names"] != [odd]
    assert told["cause"] == first.cause
