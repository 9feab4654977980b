"""Several processes and threads capture at once; processes are killed: nothing lost, no mixture."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import PROGRAMS, run_env, torch_version

WORKERS = 4


def run(arguments, program="job.py", timeout=500):
    env = {**run_env(), "OMP_NUM_THREADS": "1"}
    env["PYTHONPATH"] = os.pathsep.join([str(PROGRAMS), env["PYTHONPATH"]])
    return subprocess.run(
        [sys.executable, str(PROGRAMS / program), *map(str, arguments)],
        env=env,
        check=True,
        timeout=timeout,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def record_of(directory):
    return json.loads((directory / "session.json").read_text())


def workers_in(directory):
    """Whose frames a capture has, by the names of the functions; and whose constants its files."""
    events = record_of(directory)["events"]
    frames = [e for e in events if e["event"] == "Frame" and not e["before"]]
    # Older releases compile a wrapper of their own as well.
    frames = [f for f in frames if "work_" in f["place"]["function"]]
    named = {int(n) for f in frames for n in re.findall(r"work_(\d+)", f["place"]["function"])}
    texts = "".join(path.read_text() for path in directory.glob("__*.py"))
    added = {int(n) - 1000 for n in re.findall(r"\b1\d\d\d\b", texts)}
    return sorted(named), sorted(added & set(range(1, 100))), len(frames)


def problems(events):
    """What went wrong, but for what older releases do not tell."""
    said = [e["what"] for e in events if e["event"] == "Problem"]
    return [what for what in said if not what.endswith("its trace does not say why")]


def check_one_worker_each(directories, valid_python):
    found = []
    for directory in directories:
        named, added, frames = workers_in(directory)
        assert len(named) == 1 and added == named and frames == 2, (directory, named, added)
        assert problems(record_of(directory)["events"]) == []
        assert valid_python(directory) == []
        assert not list(directory.glob(".pellucid-*"))
        found += named
    assert sorted(found) == list(range(1, WORKERS + 1))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_have_a_directory_each(method, torch, tmp_path, valid_python):
    run([method, tmp_path, WORKERS])
    names = [f"process_{n}" for n in range(1, WORKERS + 1)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    check_one_worker_each(map(tmp_path.joinpath, names), valid_python)


def test_ranks_have_a_directory_each(torch, tmp_path, valid_python):
    env = {**run_env(), "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [
            *[sys.executable, "-m", "torch.distributed.run", "--standalone"],
            *[f"--nproc-per-node={WORKERS}", str(PROGRAMS / "job.py"), "ranks", str(tmp_path)],
        ],
        env=env,
        check=True,
        timeout=500,
        stderr=subprocess.DEVNULL,
    )
    ranks = [tmp_path, *(tmp_path / f"rank_{n}" for n in range(1, WORKERS))]
    check_one_worker_each(ranks, valid_python)


def test_processes_forked_inside_a_capture_have_one_of_their_own(torch, tmp_path, valid_python):
    run(["inside", tmp_path, WORKERS])
    children = [tmp_path / f"process_{n}" for n in range(1, WORKERS + 1)]
    check_one_worker_each(children, valid_python)
    assert workers_in(tmp_path)[0] == [99]
    assert workers_in(tmp_path / "fork_2")[0] == [98]
    index = (tmp_path / "index.md").read_text()
    assert all(f"]({child.name}/index.md)" in index for child in children)


def test_eight_threads_lose_nothing(torch, tmp_path, valid_python):
    counted = int(run(["threads", tmp_path, 8]))
    named, added, frames = workers_in(tmp_path)
    assert named == added == list(range(1, 9)) and frames == 16
    events = record_of(tmp_path)["events"]
    assert problems(events) == []
    function = {e["key"]["id"]: e["place"]["function"] for e in events if e["event"] == "Frame"}
    broken = sorted(function[e["key"]["id"]] for e in events if e["event"] == "Break")
    # Older releases call a function of no file through a wrapper, which breaks as often as it does.
    wrappers = [] if torch_version() >= (2, 13) else ["inner"] * 8
    own = [f"work_{n}" for n in range(1, 9)]
    assert sorted(function.values())[: len(wrappers)] == wrappers
    assert counted == len(wrappers + own)
    assert broken == wrappers + own
    assert valid_python(tmp_path) == []
    for event in events:  # what is said of a compile is said of its own frame
        if event["event"] == "Frame" and "work_" in event["place"]["function"]:
            (worker,) = re.findall(r"work_(\d+)", event["place"]["function"])
            slug = event["key"]["id"].replace("/", "_")
            graph = (tmp_path / f"__compiled_fn_{slug}.captured.py").read_text()
            assert f"1{int(worker):03}" in graph or f"2{int(worker):03}" in graph


@pytest.mark.slow
def test_killed_captures_leave_whole_files(torch, tmp_path):
    rounds = [json.loads(line) for line in run([tmp_path, 50], "killed.py").splitlines()]
    assert len(rounds) == 50
    assert [entry["bad"] for entry in rounds if entry["bad"]] == []
    assert sum(entry["files"] > 0 for entry in rounds) > 25, "killed too early to tell"
    last = tmp_path / "last.py"
    last.write_text("import job, sys\njob.captured(1, sys.argv[1])\n")
    env = {**run_env(), "PYTHONPATH": os.pathsep.join([str(PROGRAMS), run_env()["PYTHONPATH"]])}
    subprocess.run([sys.executable, last, tmp_path], env=env, check=True, timeout=300)
    assert not list(tmp_path.rglob(".pellucid-*")), "the next capture removes what is left"
    named, added, frames = workers_in(tmp_path)
    assert named == added == [1] and frames == 2
    left = {p.name for p in Path(tmp_path).iterdir()} - {"last.py"}
    assert left == set(record_of(tmp_path)["files"]), "nothing of the killed captures is left"
