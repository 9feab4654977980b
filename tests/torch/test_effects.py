"""A capture changes nothing that a program can see of its process, its results and its errors."""

import functools
import json
import os
import shutil
import subprocess
import sys

import pytest
from support import PROGRAMS, run_env, torch_version


@functools.lru_cache(maxsize=None)
def effects(way, directory, backend):
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "effects.py"), way, str(directory), backend],
        env={
            # The test that is running is named there.
            **{k: v for k, v in run_env().items() if k != "PYTEST_CURRENT_TEST"},
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(str(directory), f"cache_{way}"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.splitlines()[-1].replace(f"cache_{way}", "cache")
    return json.loads(said.replace(str(directory), "DIRECTORY")), done.stderr.splitlines()


@pytest.fixture(scope="module")
def runs(torch, tmp_path_factory):
    """One directory for the runs without pellucid, so that each is made once."""
    if torch_version() < (2, 13):
        pytest.skip("the program looks at torch's settings and hooks where torch 2.13 has them")
    return tmp_path_factory.mktemp("alone")


def different(one, other, path=()):
    """Where two values differ, by their paths."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            found
            for key in sorted({*one, *other})
            for found in different(one.get(key), other.get(key), (*path, key))
        ]
    return [] if one == other else [(path, one, other)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend",
    [*(pytest.param(b, marks=pytest.mark.thorough) for b in ("eager", "aot_eager")), "inductor"],
)
def test_a_capture_changes_nothing_that_a_program_sees(backend, runs, torch, tmp_path):
    alone, said_alone = effects("without", runs, backend)
    # What the compiler made of the first run's kernels serves the second; nothing else is cached.
    kernels = shutil.ignore_patterns("fxgraph", "aotautograd")
    shutil.copytree(runs / "cache_without", tmp_path / "cache_with", ignore=kernels)
    ours, said = effects("with", tmp_path, backend)
    dumped = {name for name in ours["lines"] if name.startswith("DIRECTORY")}
    assert dumped, "tracebacks show the lines of the files that run"
    assert different({**alone, "lines": []}, {**ours, "lines": []}) == []
    assert len(said) == len(said_alone)
    assert sorted(os.listdir(tmp_path / "one")), "and yet there is a dump"
    # Not all for nothing: there is something to see.
    assert alone["error"][:2] == ["KeyError", "'b'"] and alone["alive"]["model"] is False
    assert alone["error of fullgraph"][0] == "Unsupported"


def test_importing_pellucid_changes_nothing(runs, torch, tmp_path):
    alone, _ = effects("without", runs, "eager")
    ours, _ = effects("imported", tmp_path, "eager")
    assert different(alone, ours) == []
