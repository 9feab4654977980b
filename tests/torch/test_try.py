"""Remedies, tried: what works, what does not, and that nothing of the user's changes."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pellucid
import pytest
import warm
from pellucid.dump.model.events import Place
from pellucid.dump.store.load import load_all
from pellucid.findings import find_all
from pellucid.findings.remedy import Remedy
from pellucid.torch.trying import server
from pellucid.torch.trying.trial import try_all
from support import run_env, warm_python

PROGRAM = """\
import sys

import torch


@torch.compile(backend="eager")
def step(x, weight):
    y = torch.tanh(x @ weight)
    if y.mean() > 0:
        y = y - y.mean()
    total = (y * y).sum().item()
    print("total")
    return y * 2


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(3, 3)
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        return self.line(x) + self.seen


torch.manual_seed(0)
step(torch.randn(4, 3), torch.randn(3, 3))
model = torch.compile(Model(), backend="eager")
for _ in range(4):
    model(torch.ones(2, 3)).sum().backward()
"""


def run(*arguments, cwd, **more):
    return subprocess.run(
        [warm_python(), "-m", "pellucid", *map(str, arguments)],
        cwd=str(cwd),
        env=run_env(),
        capture_output=True,
        text=True,
        timeout=500,
        **more,
    )


def captured(folder: Path, text: str, *arguments: str) -> Path:
    (folder / "train.py").write_text(text)
    done = run("run", "--out", "dump", "train.py", *arguments, cwd=folder)
    assert (folder / "dump" / "session.json").is_file(), done.stderr
    return folder / "dump"


def statuses(findings, kind, line):
    """The code (or the words) of each remedy of a finding, and what came of it."""
    (found,) = [f for f in findings if f["kind"] == kind and f["place"]["line"] == line]
    return [
        ((r["diff"] and "edit") or r["code"] if r["kind"] == "edit" else r["code"] or r["words"],
         (r["trial"] or {}).get("status", "suggestion"))
        for r in found["remedies"]
    ]  # fmt: skip


@pytest.mark.thorough  # docs/tasks/graph-breaks.md shows what came of each remedy of a program
def test_each_remedy_is_tried_and_those_that_work_come_first(torch, tmp_path):
    dump = captured(tmp_path, PROGRAM)
    done = run("explain", dump, "--try", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("pellucid: trying") >= 5
    findings = json.loads(done.stdout)["findings"]
    assert ("edit", "works") in statuses(findings, "break", 9)
    item = statuses(findings, "break", 11)
    assert item[0] == ("torch._dynamo.config.capture_scalar_outputs = True", "works")
    assert ("keep it as a tensor", "suggestion") in item
    assert {status for _, status in statuses(findings, "break", 12)} >= {"works"}
    seen = statuses(findings, "recompile", 23)
    assert seen[0][0].endswith("allow_unspec_int_on_nn_module = True")
    assert seen[0][1] in ("works", "helps")
    trial = next(r["trial"] for f in findings for r in f["remedies"] if r["trial"])
    assert trial["compared"] > 4 and trial["before"]["breaks"] == 3
    for finding in findings:
        order = [r["trial"]["status"] if r["trial"] else "" for r in finding["remedies"]]
        assert "does not help" not in order[:1] or len(set(order)) == 1


RECOMPILES = """\
import torch


@torch.compile(backend="eager")
def scaled(x, scale):
    return x * scale


@torch.compile(backend="eager")
def shifted(x, steps):
    return x + steps


for size in (3, 4, 5):
    scaled(torch.ones(size), 2.0)
for steps in (2, 3, 4):
    shifted(torch.ones(4), steps)
"""


@pytest.fixture
def warm_server(torch, monkeypatch):
    """The server of trials need not import torch again."""
    warm_python()  # a Python starts it, not what stands for one
    python = warm.python({**os.environ, "PYTHONHASHSEED": "0"})
    monkeypatch.setattr(server.sys, "executable", python)


def tried_together(dump: Path, line: int, *remedies: Remedy):
    """What came of each remedy of the finding at a line; the program as it is runs once."""
    captures = load_all(dump)
    finding = next(f for f in find_all(captures) if f.place and f.place.line == line)
    (found,) = try_all(captures, [finding.with_remedies([*finding.remedies, *remedies])])
    return {r.code or r.words or r.diff: r.trial for r in found.remedies}


def test_a_size_that_is_marked_and_an_argument_that_is_a_tensor_are_tried(warm_server, tmp_path):
    dump = captured(tmp_path, RECOMPILES)
    function = Place(str(tmp_path / "train.py"), 5, "scaled")
    wrong = Remedy("", "mark", "torch._dynamo.mark_dynamic(y, 0)", target=function)
    other = Remedy("", "setting", "torch._dynamo.config.allow_rnn = True")
    found = tried_together(dump, 5, wrong, other)
    marked = found["torch._dynamo.maybe_mark_dynamic(x, 0)"]
    assert (marked.status, marked.compared, marked.difference) == ("works", 6, 0)
    assert (marked.before.recompiles, marked.after.recompiles) == (2, 1)
    assert found[wrong.code].why == (
        "not tried: it could not be applied: NameError: name 'y' is not defined"
    )
    assert str(found[other.code]).startswith("tried: does not help: 2 -> 2 recompiles")
    found = tried_together(dump, 11)
    assert found["steps = torch.tensor(steps)"].status == "works"
    assert found["dynamic=True"].status == "works"


GRADIENTS = """\
import torch

layer = torch.nn.Linear(3, 3)
with torch.no_grad():
    layer.weight.fill_(0.5)


@torch.compile(backend="aot_eager")
def loss(x):
    print("loss")
    return layer(x).square().sum()


for size in (2, 3):
    x = torch.ones(size, 3, requires_grad=True)
    loss(x).backward()
"""


def test_a_remedy_that_changes_gradients_is_not_one(warm_server, tmp_path):
    dump = captured(tmp_path, GRADIENTS)
    diff = (
        "--- train.py\n+++ train.py\n@@ -9,3 +9,2 @@\n def loss(x):\n"
        '-    print("loss")\n-    return layer(x).square().sum()\n'
        "+    return layer(x).detach().square().sum() + layer(x).sum()\n"
    )
    place = Place(str(tmp_path / "train.py"), 9)
    found = tried_together(dump, 10, Remedy("other", "edit", "", diff, place))
    works, changes = found["remove it"], found["other"]
    assert works.status == "works" and works.difference == 0, str(works)
    assert changes.status == "changes results" and changes.difference > 0, str(changes)


WRITES = """\
import pathlib, sys

import torch


@torch.compile(backend="eager")
def step(x):
    print("step")
    return x + 1


step(torch.ones(3))
torch.save({"x": 1}, "kept.pt")
open("log.txt", "a").write("again\\n")
pathlib.Path("runs/one.txt").write_text("new")
pathlib.Path("runs/old.txt").unlink()
pathlib.Path("new").mkdir()
assert pathlib.Path("log.txt").read_text() == "mine\\nagain\\n"
if "--absolute" in sys.argv:
    pathlib.Path(__file__).with_name("log.txt").write_text("gone")
"""


def test_the_files_of_the_user_stay_as_they_are(warm_server, tmp_path):
    project, dump = tmp_path / "project", tmp_path / "dump"
    (project / "runs").mkdir(parents=True)
    files = {"log.txt": "mine\n", "kept.pt": "mine", "runs/old.txt": "old", "train.py": WRITES}
    for name, text in files.items():
        (project / name).write_text(text)
    command = [warm_python(), "-c", f"""
import pellucid, torch
with pellucid.prepare_debug({str(dump)!r}):
    torch.compile(lambda x: (print(), x + 1)[1], backend="eager")(torch.ones(2))
"""]  # fmt: skip
    subprocess.run(command, env=run_env(), check=True, capture_output=True)
    setting = "torch._dynamo.config.reorderable_logging_functions.add(print)"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        trial = pellucid.try_remedy(dump, setting, program=["train.py"])
        assert (trial.status, trial.after.raised) == ("works", ""), str(trial)
        trial = pellucid.try_remedy(dump, setting, program=["train.py", "--absolute"])
        assert trial.after.raised.startswith(
            "PermissionError: a trial may not change existing files"
        )
    found = {str(p.relative_to(project)): p.read_bytes() for p in project.rglob("*") if p.is_file()}
    assert found == {name: text.encode() for name, text in files.items()}
    assert not (project / "new").exists()


def test_what_cannot_be_tried_is_refused_with_one_line(torch, tmp_path):
    dump = captured(tmp_path, PROGRAM.partition("class Model")[0] + "step(*torch.ones(2, 3, 3))\n")
    for arguments, words in (
        (["--", "train.py"], "is for --try"),
        (["--try", "--", "none.py"], "none.py: no such file"),
        (["--try", "--", "-m"], "-m needs the name of a module"),
        (["--try", "--limit", "0"], "more than 0"),
        (["--try", "--limit", "0.2"], "the program, run again: it did not finish within 0.2 s"),
    ):
        done = run("explain", dump, *arguments, cwd=tmp_path)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    with pytest.raises(pellucid.CannotTry, match="not a remedy"):
        pellucid.try_remedy(dump, "what is it")
    with pytest.raises(pellucid.CannotTry, match="only by hand"):
        pellucid.try_remedy(dump, Remedy("keep it as a tensor"))
    with pytest.raises(pellucid.CannotTry, match="names no file"):
        pellucid.try_remedy(dump, "--- other.py\n+++ other.py\n@@ -1 +1 @@\n-a\n+b\n")
    with pytest.raises(pellucid.NotADump):
        pellucid.try_remedy(tmp_path / "none", "dynamic=True")
    trial = pellucid.try_remedy(dump, "--- train.py\n@@ -1 +1 @@\n-import os\n+import re\n")
    assert str(trial) == (
        "suggestion: not tried: it could not be applied: line 1 is 'import sys', not 'import os'"
    )


@pytest.mark.parametrize("forks", [True, False])
def test_a_run_that_crashes_or_hangs_does_not_harm_the_next(forks, torch, tmp_path, monkeypatch):
    if not forks:
        text = "from pellucid.torch.trying import server; server._can_fork = bool; server.serve()"
        monkeypatch.setattr(server, "_SERVE", text)
    ended = {}
    served = server.Server(run_env())
    for name, text in (
        ("crashes", "import os; os.abort()"),
        ("hangs", "import time; time.sleep(600)"),
        ("works", "import sys; print(sys.stdin.read() == '', 'torch' in sys.modules)"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "program.py").write_text(text)
        order = {"command": [str(folder / "program.py")], "folder": str(folder), "kept": []}
        places = {key: str(folder / key) for key in ("out", "results", "cache")}
        order.update(places, working=str(folder), remedy=None)
        (folder / "order.json").write_text(json.dumps(order))
        try:
            ended[name] = served.run(folder / "order.json", 4 if name == "hangs" else 60)
        except TimeoutError:
            ended[name] = "late"
    served.end()
    assert ended == {"crashes": -signal.SIGABRT, "hangs": "late", "works": 0}
    assert (tmp_path / "works" / "stdout").read_text() == "True True\n"
