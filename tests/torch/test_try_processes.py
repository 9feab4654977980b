"""Remedies of programs that run in several processes: ranks, workers, subprocesses, pytest."""

import json
import subprocess
import sys

import pytest
from pellucid.torch.api.run_script import is_installed
from support import run_env, warm_python

STEP = """\
import os
import subprocess
import sys

import torch


def step(x, scale):
    y = torch.tanh(x) * scale
    torch._dynamo.graph_break()
    return y.sum()


def work(sizes=(2,)):
    compiled = torch.compile(step, backend="eager")
    return [float(compiled(torch.ones(size), 2.0)) for size in sizes]


def test_work():
    assert work()[0] > 1
"""
WORKERS = """
import multiprocessing


if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work)
    worker.start()
    worker.join()
"""
SUBPROCESS = """

if __name__ == "__main__":
    if sys.argv[1:]:
        work()
    else:
        subprocess.run([sys.executable, os.path.abspath(__file__), "again"], check=True)
"""
RANKS = """
if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    work((2, 3)[: torch.distributed.get_rank() + 1])
    torch.distributed.destroy_process_group()
"""
LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def pellucid(*arguments, cwd):
    return subprocess.run(
        [warm_python(), "-m", "pellucid", *arguments],
        cwd=str(cwd),
        env=run_env(),
        capture_output=True,
        text=True,
        timeout=500,
    )


def trials(folder, text, *command):
    """Capture a program and try every remedy; the trials by line, kind of remedy and status."""
    name = command[-1]
    (folder / name).write_text(STEP + text)
    ran = pellucid("run", "--out", "dump", *command, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    done = pellucid("explain", "dump", "--try", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / name).read_text() == STEP + text
    return {
        (finding["kind"], remedy["kind"]): remedy["trial"]
        for finding in json.loads(done.stdout)["findings"]
        for remedy in finding["remedies"]
        if remedy["trial"]
    }


@pytest.mark.skipif(not is_installed(), reason="pellucid is found by its path alone")
@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python does not keep its arguments")
@pytest.mark.parametrize(
    "text, command, processes",
    [
        (WORKERS, ["workers.py"], 1),
        pytest.param(SUBPROCESS, ["again.py"], 1, marks=pytest.mark.thorough),
        pytest.param("", ["-m", "pytest", "test_step.py"], 1, marks=pytest.mark.thorough),
        pytest.param(RANKS, [*LAUNCHER, "ranks.py"], 2, marks=pytest.mark.thorough),
    ],
    ids=["spawn", "subprocess", "pytest", "ranks"],
)
def test_a_remedy_is_applied_in_every_process(text, command, processes, torch, tmp_path):
    found = trials(tmp_path, text, *command)
    edit = found["break", "edit"]
    assert edit["status"] == "works", found
    assert (edit["before"]["breaks"], edit["after"]["breaks"]) == (1, 0)
    assert edit["compared"] == 2 * processes - 1 and edit["difference"] == 0
    if processes == 2:  # a mark on a tensor of the compiled function
        assert found["recompile", "mark"]["status"] != "suggestion", found
