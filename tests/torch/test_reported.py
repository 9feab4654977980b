"""Programs after public reports of 2026: the cause, the line, and the remedy that a trial showed.

`pellucid explain --try` was run on each; STATUS of a row is what it said of the first remedy.
"""

import subprocess
from pathlib import Path

import pytest
from pellucid.dump.store.load import load_all
from pellucid.findings import find_all
from support import PROGRAMS, run_env, torch_version, warm_python

RUNNER = Path(__file__).with_name("run_reports.py")
DYNAMO = "torch._dynamo.config"

# Kind, line, a word of the cause; the code or a word of the first remedy; what a trial said of it.
EXPECTED = {
    "r01": [
        ("limit", 13, "recompile_limit", f"{DYNAMO}.allow_unspec_int_on_nn_module", "helps"),
        ("recompile", 13, "self.updates", f"{DYNAMO}.allow_unspec_int_on_nn_module", "helps"),
    ],
    "r02": [
        ("break", 7, "value into a Python number", f"{DYNAMO}.capture_scalar_outputs", "works")
    ],
    "r03": [("recompile", 8, "longest", "no change needed", "suggestion")],
    "r04": [("recompile", 13, "no longer None", "sets `self.mapped` itself", "suggestion")],
    "r05": [("recompile", 11, "self.step", "no change needed", "suggestion")],
    "r06": [("recompile", 8, "size", f"{DYNAMO}.force_parameter_static_shapes", "helps")],
    "r07": [("failed", 8, "tensor's values", "torch._check", "suggestion")],
    "r08": [("stance", 13, "eager_on_recompile", "end the stance", "suggestion")],
    "r09": [],
    "r10": [("break", 8, "autograd.grad", f"{DYNAMO}.trace_autograd_ops", "works")],
    "r11": [("failed", 10, "fixed to 4", "maybe_mark_dynamic", "works")],
    "r12": [
        ("break", 12, "logging", f"{DYNAMO}.ignore_logging_functions", "works"),
        ("break", 14, "warn", f"{DYNAMO}.reorderable_logging_functions", "works"),
    ],
    "r13": [
        ("break", 10, "value into a Python number", f"{DYNAMO}.capture_scalar_outputs", "works"),
        ("recompile", 11, "value of line 10", "keep it as a tensor", "suggestion"),
    ],
    "r14": [
        ("recompile", 13, "Settings.factor", "no change needed", "suggestion"),
        ("recompile", 14, "Settings.use_bias", "for a few values no change", "suggestion"),
    ],
    "r15": [
        ("limit", 14, "all modules of the class share", f"{DYNAMO}.recompile_limit = 64", "works"),
        ("recompile", 14, "self.key", "pass what `self.key` selects", "suggestion"),
        ("recompile", 12, "x.requires_grad", "warm up calls with and without", "suggestion"),
    ],
    "r16": [("break", 10, "deepcopy", ".clone()", "suggestion")],
    "r17": [("recompile", 8, "t.item()", "index_select", "suggestion")],
    "r18": [
        ("break", 9, "`nonzero`", f"{DYNAMO}.capture_dynamic_output_shape_ops", "works"),
        ("recompile", 9, "`size(0)` of the value of line 9", "no change needed", "suggestion"),
    ],
    "r19": [("break", 13, "logger.warning", f"{DYNAMO}.ignore_logging_functions", "works")],
    "r20": [
        ("limit", 14, "len(self.norms)", "fix the cause", "suggestion"),
        ("recompile", 14, "len(self.norms)", "append to it outside", "suggestion"),
        ("recompile", 12, "x.requires_grad", "warm up calls with and without", "suggestion"),
    ],
    "r21": [("break", 16, "random.random", "pass its result in", "suggestion")],
    "r22": [
        ("recompile", 12, "grad mode", "warm up each state", "suggestion"),
        ("recompile", 12, "inside inference_mode", "use torch.no_grad()", "suggestion"),
    ],
    "r23": [("recompile", 8, "widths[0]", "no change needed", "suggestion")],
}


@pytest.fixture(scope="module")
def dumps(torch, tmp_path_factory):
    if torch_version() < (2, 13):
        pytest.skip("older releases word it otherwise")
    out = tmp_path_factory.mktemp("reported")
    programs = sorted(map(str, (PROGRAMS / "reported").glob("r*.py")))
    command = [warm_python(), str(RUNNER), str(out), *programs]
    subprocess.run(command, env=run_env(), cwd=str(out), check=True, timeout=550)
    return out


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_cause_the_line_and_the_remedy(name, dumps):
    findings = [f for f in find_all(load_all(dumps / name)) if f.kind not in ("cache", "precision")]
    told = [(f.kind, f.place and f.place.line, f.cause, f.remedy) for f in findings]
    assert len(findings) == len(EXPECTED[name]) or name in ("r06",), told
    for kind, line, cause, remedy, status in EXPECTED[name]:
        of_line = [f for f in findings if f.kind == kind and f.place and f.place.line == line]
        found = [f for f in of_line if cause in f.cause]
        assert len(found) == 1, told
        first = found[0].remedies[0]
        assert remedy in (first.code or first.diff or first.words), first
        assert (first.kind == "by hand") == (status == "suggestion")
