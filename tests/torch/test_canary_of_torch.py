"""`make canary` finds what a torch has and pellucid's tables have not, and nothing else."""

import json
import shutil
import subprocess

import pytest
from needs import ROOT
from support import run_env, torch_version, warm_python

OURS = "python/pellucid"


def canary(root, *arguments):
    """Run the canary on the tables of a tree; return its exit code and what it prints."""
    command = [warm_python(), str(ROOT / "tools" / "canary"), "--only", "torch"]
    done = subprocess.run(
        [*command, "--root", str(root), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=run_env(),
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


@pytest.fixture
def known(torch):
    if torch_version() not in ((2, 13), (2, 15)):
        pytest.skip("what other releases have beside the tables is not recorded")


def test_nothing_is_new_in_a_torch_that_is_known(known):
    status, output = canary(ROOT)
    assert status == 0 and output.endswith("nothing is new\n"), output


TAKEN = [
    ("torch/taps/compat.py", ":trace_log", ":track_log", "trace_log is at none of"),
    (
        "torch/taps/shapes.py",
        '"fw_module"',
        '"fw_mod"',
        "no graph of a trace event in the expected place",
    ),
    ("torch/taps/shapes.py", '"_real_recompile"', '"_actual_recompile"', "no lazy graph in"),
    ("torch/guards/kinds.py", '    "TENSOR_MATCH": _tensor,\n', "", "kind of guard TENSOR_MATCH"),
    ("torch/guards/access.py", '"GradGuardAccessor"', '"GradAccessor"', ""),
    (
        "torch/guards/access.py",
        '"TypeGuardAccessor"',
        '"TypeAccessor"',
        "guarded value TypeGuardAccess",
    ),
    (
        "torch/guards/translate.py",
        '"OBJECT_ALIASING": ',
        '"ALIASING": ',
        "kind of guard OBJECT_ALIASING",
    ),
    ("dump/model/stages.py", '    "triton": "py",\n', "", "kind of async_compile triton"),
    ("dump/model/traced.py", '"aot_joint_graph"', '"joint_graph"', "trace aot_joint_graph"),
    ("dump/model/traced.py", '"describe_source"', '"source"', "event of the trace describe_source"),
    (
        "dump/model/traced.py",
        '"artifact:runtime_wrapper_orchestration"',
        '"artifact:orchestration"',
        "event of the trace artifact:runtime_wrapper_orchestration",
    ),
    ("dump/model/traced.py", '"artifact:optimus_*"', '"artifact:opt_*"', "artifact:optimus_*"),
    ("torch/capture/metrics.py", '    "guard_count",\n', "", "metric guard_count"),
]


def test_what_the_tables_have_not_is_told_with_its_file(known, tmp_path):
    shutil.copytree(str(ROOT / OURS), str(tmp_path / OURS))
    for file, text, other, _ in TAKEN:
        path = tmp_path / OURS / file
        before = path.read_text(encoding="utf-8")
        assert text in before, (file, text)
        path.write_text(before.replace(text, other), encoding="utf-8")
    record = json.loads((ROOT / "tools/canary/known/torch.json").read_text(encoding="utf-8"))
    record["graph break"].remove("GB0001")
    folder = tmp_path / "tools" / "canary" / "known"
    folder.mkdir(parents=True)
    (folder / "torch.json").write_text(json.dumps(record), encoding="utf-8")
    status, output = canary(tmp_path, "--no-capture")
    assert status == 1
    blocks = {}
    for block in output.split("\n\n")[1:]:
        file, _, lines = block.strip().partition("\n")
        blocks[file] = lines
    for file, _, _, told in TAKEN:
        short = file.partition("/")[2]
        if told:
            assert any(told in lines for name, lines in blocks.items() if short in name), told
    assert "graph break GB0001 is not known (" in output
    count = int(output.partition(" things are new")[0].rpartition(" ")[2])
    assert count == sum(bool(told) for *_, told in TAKEN) + 1, output
