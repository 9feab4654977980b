"""Several processes and threads capture at once; processes are killed: nothing lost, no mixture."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import PROGRAMS, run_env, torch_version, warm_python

WORKERS = 4
RANKS = 2  # each starts a Python of its own


def run(arguments, program="job.py", timeout=500, dump=None, launcher=()):
    env = run_env()
    # What is launched is torch's, or starts interpreters itself.
    python = sys.executable if launcher or program == "launched.py" else warm_python()
    env["PYTHONPATH"] = os.pathsep.join([str(PROGRAMS), env["PYTHONPATH"]])
    if dump is not None:
        env["PELLUCID_DUMP"] = str(dump)
    done = subprocess.run(
        [python, *launcher, str(PROGRAMS / program), *map(str, arguments)],
        env=env,
        check=False,
        timeout=timeout,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "pellucid" not in done.stderr
    return done.stdout


def record_of(directory):
    return json.loads((directory / "session.json").read_text())


def workers_in(directory):
    """Whose frames a capture has, by the names of the functions; and whose constants its files."""
    events = record_of(directory)["events"]
    frames = [e for e in events if e["event"] == "Frame" and not e["before"]]
    # Older releases compile a wrapper of their own as well.
    frames = [f for f in frames if f["place"]["file"].startswith("<worker")]
    named = {int(n) for f in frames for n in re.findall(r"work_(\d+)", f["place"]["function"])}
    texts = "".join(path.read_text() for path in directory.glob("__*.py"))
    added = {int(n) - 1000 for n in re.findall(r"\b1\d\d\d\b", texts)}
    return sorted(named), sorted(added & set(range(1, 100))), len(frames)


def problems(events):
    """What went wrong, but for what older releases do not tell."""
    said = [e["what"] for e in events if e["event"] == "Problem"]
    return [what for what in said if not what.endswith("its trace gives no reason")]


def check_one_worker_each(directories, valid_python):
    found = []
    for directory in directories:
        named, added, frames = workers_in(directory)
        assert len(named) == 1 and added == named and frames == 2, (directory, named, added)
        assert problems(record_of(directory)["events"]) == []
        assert valid_python(directory) == []
        assert not list(directory.glob(".pellucid-*"))
        found += named
    assert sorted(found) == list(range(1, len(directories) + 1))


def remove_marks(directory):
    """Remove what tells the next process of a run which directories are taken."""
    for mark in directory.rglob(".pellucid-run"):
        mark.unlink()


# Each of these programs has captures of its own, and is captured as a whole as well.


@pytest.mark.parametrize("method", [pytest.param("spawn", marks=pytest.mark.thorough), "fork"])
def test_processes_have_a_directory_each(method, torch, tmp_path, valid_python):
    run([method, tmp_path / "own", WORKERS], dump=tmp_path / "all")
    names = [f"process_{n}" for n in range(1, WORKERS + 1)]
    remove_marks(tmp_path / "all")
    for folder in (tmp_path / "own", tmp_path / "all"):
        assert sorted(path.name for path in folder.iterdir()) == names
        check_one_worker_each([folder / name for name in names], valid_python)
        assert [record_of(folder / name)["process"] for name in names] == ["1", "2", "3", "4"]


def test_ranks_have_a_directory_each(torch, tmp_path, valid_python):
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    run(["ranks", tmp_path / "own"], dump=tmp_path / "all", launcher=launcher)
    names = [f"rank_{n}" for n in range(RANKS)]
    remove_marks(tmp_path / "all")
    for folder in (tmp_path / "own", tmp_path / "all"):
        # The launcher has imported torch, and compiled nothing.
        assert sorted(path.name for path in folder.iterdir()) == names
        check_one_worker_each([folder / name for name in names], valid_python)
        for rank, name in enumerate(names):
            record = record_of(folder / name)
            assert (record["rank"], record["world_size"]) == (rank, RANKS)
            index = (folder / name / "index.md").read_text()
            assert [other in index for other in names] == [other != name for other in names]


@pytest.mark.slow
def test_all_that_a_program_starts_is_captured_by_itself(torch, tmp_path, valid_python):
    expected = {
        "": 9,
        "process_1": 1,  # a worker of a DataLoader; the other compiles nothing
        "process_3": 2,
        "process_4": 3,
        "capture_2": 4,  # forked before the first process had a capture
        "fork_2": 5,
        "capture_3": 6,
    }
    run([], "launched.py", dump=tmp_path)
    found = {path.parent for path in tmp_path.rglob("session.json")}
    names = {str(path.relative_to(tmp_path)).strip(".") for path in found}
    assert names == set(expected)
    servers = sorted(workers_in(tmp_path / f"process_{n}")[0] for n in (3, 4))
    assert servers == [[2], [3]]
    for name, worker in expected.items():
        assert workers_in(tmp_path / name) == ([worker], [worker], 2)
        assert valid_python(tmp_path / name) == []


def test_a_program_that_asks_for_compiles_in_vain_is_told_so(torch, tmp_path):
    text = (
        "import torch\n"
        "from pellucid.explain.global_variables import data\n"
        "asked = torch.compile(torch.sin, backend='eager')\n"
        "print(data['is_inside_prepare_debug'])\n"
    )
    program = tmp_path / "program.py"
    program.write_text(text)
    assert run([], program, dump=tmp_path / "dump") == "False\n"
    remove_marks(tmp_path / "dump")
    left = [path.name for path in (tmp_path / "dump").iterdir()]
    assert "session.json" in left and not [name for name in left if name.endswith(".py")]
    assert "Nothing was compiled" in (tmp_path / "dump" / "index.md").read_text()


def test_another_program_has_another_directory(tmp_path):
    from pellucid.dump.store.directories import Job, Mark, claim

    def claimed(run, program, first=True):
        got = claim(tmp_path, Job(), Mark(run, program), first)
        (got.path / "kept").write_text(program)
        got.release()
        return got.path.relative_to(tmp_path)

    assert str(claimed("1", "train.py")) == "."
    assert str(claimed("2", "evaluate.py")) == "capture_2"
    assert str(claimed("3", "train.py")) == ".", "an earlier run of the same program"
    assert str(claimed("3", "train.py")) == "capture_3", "another process of the same run"
    assert str(claimed("4", "train.py", first=False)) == "capture_3"
    assert str(claimed("5", "evaluate.py")) == "capture_2"


def test_processes_forked_inside_a_capture_have_one_of_their_own(torch, tmp_path, valid_python):
    run(["inside", tmp_path, WORKERS])
    children = [tmp_path / f"process_{n}" for n in range(1, WORKERS + 1)]
    check_one_worker_each(children, valid_python)
    assert workers_in(tmp_path)[0] == [99]
    assert workers_in(tmp_path / "fork_2")[0] == [98]
    index = (tmp_path / "index.md").read_text()
    assert all(f"]({child.name}/index.md)" in index for child in children)


@pytest.mark.parametrize("traced", [False, True])  # events come in two ways (connection.py)
def test_eight_threads_lose_nothing(traced, torch, tmp_path, valid_python, monkeypatch):
    if traced:
        monkeypatch.setenv("TORCH_TRACE", str(tmp_path / "trace"))
    counted = int(run(["threads", tmp_path, 8]))
    named, added, frames = workers_in(tmp_path)
    assert named == added == list(range(1, 9)) and frames == 16
    events = record_of(tmp_path)["events"]
    assert problems(events) == []
    function = {e["key"]["id"]: e["place"]["function"] for e in events if e["event"] == "Frame"}
    broken = sorted(function[e["key"]["id"]] for e in events if e["event"] == "Break")
    # Older releases call a function of no file through a wrapper, which breaks as often as it does
    # and is named after it.
    times = 1 if torch_version() >= (2, 13) else 2
    own = sorted([f"work_{n}" for n in range(1, 9)] * times)
    assert counted == len(own) and broken == own
    assert valid_python(tmp_path) == []
    for event in events:  # what is said of a compile is said of its own frame
        if event["event"] == "Frame" and event["place"]["file"].startswith("<worker"):
            (worker,) = re.findall(r"work_(\d+)", event["place"]["function"])
            slug = event["key"]["id"].replace("/", "_")
            graph = (tmp_path / f"__compiled_fn_{slug}.captured.py").read_text()
            assert f"1{int(worker):03}" in graph or f"2{int(worker):03}" in graph


@pytest.mark.slow
@pytest.mark.parametrize("times", [16, pytest.param(100, marks=pytest.mark.thorough)])
def test_killed_captures_leave_whole_files(times, torch, tmp_path):
    rounds = [json.loads(line) for line in run([tmp_path, times], "killed.py").splitlines()]
    assert len(rounds) == times
    assert [entry["bad"] for entry in rounds if entry["bad"]] == []
    assert sum(entry["files"] > 0 for entry in rounds) > times // 2, "killed too early to tell"
    last = tmp_path / "last.py"
    last.write_text("import job, sys\njob.captured(1, sys.argv[1])\n")
    env = {**run_env(), "PYTHONPATH": os.pathsep.join([str(PROGRAMS), run_env()["PYTHONPATH"]])}
    subprocess.run([warm_python(), last, tmp_path], env=env, check=True, timeout=300)
    assert not list(tmp_path.rglob(".pellucid-*")), "the next capture removes what is left"
    named, added, frames = workers_in(tmp_path)
    assert named == added == [1] and frames == 2
    left = {p.name for p in Path(tmp_path).iterdir()} - {"last.py"}
    assert left == set(record_of(tmp_path)["files"]), "nothing of the killed captures is left"
