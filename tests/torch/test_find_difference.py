"""find_difference names the stage, the operation and the lines; what is right is not accused."""

import importlib.util
import json
import linecache
import subprocess
import sys

import pytest
from pellucid.torch import find_difference, prepare_debug
from support import PROGRAMS, run_env, torch_version

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is not None and torch_version() < (2, 13),
    reason="older torch tells less of where nodes come from",
)

EVERY = "\n".join(file.read_text() for file in sorted((PROGRAMS / "partings").glob("*.py")))
NAMES = [
    line.split("(")[0].split()[1].rstrip(":")
    for above, line in zip(EVERY.split("\n@fault")[0:], EVERY.split("\n@fault")[1:])
    for line in [next(x for x in line.split("\n") if x.startswith(("def ", "class ")))]
]
SLOW = ("product_in_bfloat16", "one_kernel_of_four", "kernel_of_a_gradient")
"""The faults tested here of those for which a compiler of C++ has to run."""


def is_quick(name):
    text = EVERY.split(f" {name}(")[0].rpartition("@fault")[2]
    return not ('"program"' in text or '"post-grad"' in text)


def check(faults, name, torch, tmp_path):
    fault = faults.FAULTS[name]
    with fault.inside(), prepare_debug(tmp_path):
        function = fault.make()
        if fault.compiled:
            function = torch.compile(function, **fault.compiled)
        found = find_difference(function, *fault.args(), **fault.options)
    assert (found.stage, found.direction) == (fault.stage, fault.direction), str(found)
    assert found.operation == fault.operation, str(found)
    assert "# FAULT" in linecache.getline(found.place.file, found.place.line), str(found)
    if found.file:
        made = (tmp_path / found.file).read_text().split("\n")[found.line - 1]
        assert found.line and (found.stage == "program" or found.after.node in made), made
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if is_quick(name)])
def test_fault_of_the_early_stages_is_named(name, program, torch, dynamo, tmp_path):
    check(program("partings"), name, torch, tmp_path)


@pytest.mark.parametrize("name", SLOW)
def test_fault_of_inductors_is_named(name, program, torch, dynamo, tmp_path):
    found = check(program("partings"), name, torch, tmp_path)
    assert found.stage in str(found) and found.previous in str(found)
    assert "elements part, most at [" in str(found)


def test_all_stages_agree_on_a_model_that_draws_counts_and_has_buffers(program, torch, dynamo):
    model, args = program("small_models").MODELS["Counting"]()
    found = find_difference(model, *args)
    assert not found, str(found)
    assert found.stages == ("eager", "captured", "AOT", "post-grad", "program")
    assert "no difference between eager, captured, AOT, post-grad, program" in str(found)
    assert found.directory == "" and found.graphs == 1 and found.backward
    assert (model.calls, model.seen) == (0, {}) and not hasattr(model, "last")
    assert not model.mean.any() and model.a.weight.grad is None


def test_random_state_and_gradients_are_left_as_they_were(torch, dynamo):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
    model(torch.ones(2, 3)).sum().backward()
    state, grads = torch.get_rng_state(), [p.grad.clone() for p in model.parameters()]
    find_difference(torch.compile(model, backend="aot_eager"), torch.ones(2, 3))
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), grads))


def test_the_side_nearer_to_float64_is_told(program, torch, dynamo):
    faults = program("partings")
    found = find_difference(
        faults.captured.another_factor, *faults.plain(), reference=torch.float64
    )
    assert found.nearer.stage == "" or found.nearer.before <= found.nearer.after
    part = found.results[0]
    assert part.nearer.stage == "eager" and part.nearer.before < part.nearer.after
    assert "eager is nearer to float64" in str(found)
    assert "Dynamo's graph (captured) makes something else of aten.mul.Tensor" in str(found)


def test_a_tolerance_of_the_user_decides(program, torch, dynamo):
    faults = program("partings")
    assert find_difference(faults.captured.another_factor, *faults.plain(), rtol=1e-6)
    found = find_difference(
        torch.compile(faults.captured.another_factor, backend="eager"),
        *faults.plain(),
        rtol=1.0,
        atol=1.0,
    )
    assert not found, str(found)


def test_state_is_told_with_what_it_was(program, torch, dynamo):
    faults = program("partings")
    found = find_difference(faults.captured.LostAppend(), *faults.plain())
    (change,) = found.state
    assert (change.name, change.before, change.eager) == (
        "self.log",
        "a list of 0 items",
        "a list of 1 item",
    )
    assert change.code == "self.log.append(len(y))  # FAULT"
    assert "compiled code leaves a list of 0 items" in str(found)


def test_json_has_the_fields(program, torch, dynamo):
    faults = program("partings")
    found = find_difference(faults.captured.StaleBuffer(), *faults.plain())
    plain = json.loads(found.as_json())
    assert plain["different"] and plain["stage"] == "captured"
    assert plain["operation"] == "aten.mul_.Tensor" and plain["after"] is None
    assert plain["place"]["line"] == found.place.line and plain["results"][0]["name"] == "self.mean"


def test_nothing_compiled_is_not_called_clean(torch, dynamo):
    assert "nothing was compiled" in str(find_difference(lambda: 1))


def test_an_exception_of_the_programs_is_its_own(torch, dynamo):
    with pytest.raises(ZeroDivisionError):
        find_difference(lambda x: x / (1 // 0), torch.ones(2))


@pytest.mark.parametrize("wrong", [{"rtol": -1.0}, {"atol": float("nan")}, {"reference": "x"}])
def test_wrong_arguments_are_refused(wrong, torch, dynamo):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        find_difference(lambda x: x, torch.ones(2), **wrong)


SCRIPT = """\
import torch

def fine():
    return torch.arange(4.0).sin()

def other():
    y = torch.arange(4.0) + 1
    return y * (2 if torch.compiler.is_compiling() else 3)  # FAULT

"""


def command(tmp_path, *arguments):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    arguments = [argument.replace("SCRIPT", str(script)) for argument in arguments]
    return subprocess.run(
        [sys.executable, "-m", "pellucid", "find-difference", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=run_env(),
        timeout=300,
    )


def test_command_line(torch, tmp_path):
    done = command(tmp_path, "SCRIPT:other", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert found["stage"] == "captured" and found["place"]["line"] == 8


@pytest.mark.parametrize("target", ["SCRIPT:absent", "nowhere.py:f", "SCRIPT"])
def test_command_line_says_what_is_wrong(target, torch, tmp_path):
    done = command(tmp_path, target)
    assert done.returncode == 2 and done.stderr.strip()
    assert "Traceback" not in done.stderr
