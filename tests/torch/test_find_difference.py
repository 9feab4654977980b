"""find_difference names the stage, the operation and the lines; what is right is not accused."""

import functools
import importlib.util
import json
import linecache
import subprocess
import sys

import pytest
from pellucid import load
from pellucid.findings import find
from pellucid.torch import find_difference, prepare_debug
from support import PROGRAMS, run_env, torch_version, warm_python

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is not None and torch_version() < (2, 13),
    reason="older torch tells less of where nodes come from",
)

NAN = float("nan")
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
    (told,) = [f for f in find(load(tmp_path)) if f.kind == "difference"]
    is_state = found.operation == "Python state"
    assert told.place == found.place
    assert ("a different state" if is_state else f"`{found.operation}`") in told.cause
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if is_quick(name)])
def test_fault_of_the_early_stages_is_named(name, program, torch, dynamo, tmp_path):
    check(program("partings"), name, torch, tmp_path)


@pytest.mark.parametrize("name", SLOW)
def test_fault_of_inductors_is_named(name, program, torch, dynamo, tmp_path):
    found = check(program("partings"), name, torch, tmp_path)
    assert found.stage in str(found) and found.previous in str(found)
    assert "elements differ, most at [" in str(found)


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
    assert "eager is closer to float64" in str(found)
    assert "Dynamo's graph (captured) computes aten.mul.Tensor" in str(found)


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
    assert "compiled code keeps a list of 0 items" in str(found)


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


OWN_CLASS = """\
import torch

class Log:
    def __init__(self):
        self.count = 0

log = Log()

def counting():
    y = torch.arange(4.0).sin()
    if not torch.compiler.is_compiling():
        log.count += 1
    return y
"""


def command(tmp_path, *arguments, text=SCRIPT, name="script.py"):
    script = tmp_path / name
    script.write_text(text)
    arguments = [argument.replace("SCRIPT", str(script)) for argument in arguments]
    return subprocess.run(
        [warm_python(), "-m", "pellucid", "find-difference", *arguments],
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


@pytest.mark.parametrize("name", ["script.py", "random.py"])
def test_command_line_knows_the_scripts_own_classes(name, torch, tmp_path):
    done = command(tmp_path, "SCRIPT:counting", "--json", text=OWN_CLASS, name=name)
    assert done.returncode == 1, done.stderr
    (change,) = json.loads(done.stdout)["state"]
    assert (change["name"], change["eager"]) == ("log.count", "1")


@pytest.mark.parametrize("target", ["SCRIPT:absent", "nowhere.py:f", "SCRIPT"])
def test_command_line_says_what_is_wrong(target, torch, tmp_path):
    done = command(tmp_path, target)
    assert done.returncode == 2 and done.stderr.strip()
    assert "Traceback" not in done.stderr


# -- what is no rounding ---------------------------------------------------------------------------


def not_finite(torch):
    def step(x):
        y = x.sin()
        return y / (y - y) if torch.compiler.is_compiling() else y + 1

    return step


def one_not_finite(torch):
    def step(x):
        y = x.sin() * 3
        return y.index_fill(0, y.new_zeros(1).long(), NAN) if torch.compiler.is_compiling() else y

    return step


def of_another_type(torch):
    def step(x):
        y = x.sin()
        return y.double() if torch.compiler.is_compiling() else y

    return step


@pytest.mark.parametrize("make", [not_finite, one_not_finite, of_another_type])
def test_what_is_not_finite_or_of_another_type_is_no_rounding(make, torch, dynamo):
    found = find_difference(make(torch), torch.arange(1.0, 5.0))
    assert found.stage == "captured" and [part.name for part in found.results] == ["result"]
    assert not found.within_rounding
    json.loads(found.as_json(), parse_constant=pytest.fail)


def test_json_has_strings_for_what_is_not_finite(torch, dynamo):
    found = find_difference(one_not_finite(torch), torch.arange(1.0, 5.0))
    plain = json.loads(found.as_json(), parse_constant=pytest.fail)
    assert plain["results"][0]["distance"]["after"] == "NaN"
    assert plain["results"][0]["nearer"]["after"] == "Infinity"
    assert found.results[0].nearer.stage == "eager"


def test_results_on_another_device_are_told(torch, dynamo):
    def step(x):
        y = x.sin()
        return y.to("meta") if torch.compiler.is_compiling() else y

    found = find_difference(step, torch.ones(3))
    assert "cpu)" in found.results[0].before and "meta)" in found.results[0].after


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_sparse_values_are_compared(dtype, torch, dynamo):
    kind = getattr(torch, dtype)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.eye(3, dtype=kind).to_sparse())

        def forward(self, x):
            if not torch.compiler.is_compiling():
                self.seen.mul_(2)
            return x + 1

    model = Model()
    found = find_difference(model, torch.ones(3))
    assert [part.name for part in found.results] == ["self.seen"]
    assert torch.equal(model.seen.to_dense(), torch.eye(3, dtype=kind))


# -- what is put back ------------------------------------------------------------------------------


def test_names_of_a_module_that_are_bound_anew_are_put_back(torch, dynamo):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.scale = torch.nn.Parameter(torch.ones(4))
            self.inner = torch.nn.ReLU()

        def forward(self, x):
            self.mean = 0.9 * self.mean + x.mean(0)
            if not torch.compiler.is_compiling():
                self.scale = torch.nn.Parameter(self.scale.detach() * 2)
                self.inner = torch.nn.Tanh()
            return x * 2

    model = Model()
    before = model.mean, model.scale, model.inner
    find_difference(model, torch.ones(2, 4))
    assert all(a is b for a, b in zip(before, (model.mean, model.scale, model.inner)))
    assert not model.mean.any() and bool((model.scale == 1).all())


def test_closures_defaults_and_what_partial_holds_are_put_back(torch, dynamo):
    count, log, told, counted = 0, [], [], {"calls": 0}

    def step(seen, x, kept=[], *, named={}):  # noqa: B006
        nonlocal count
        count += 1
        for held in (seen, kept, told):
            held.append(len(x))
        named["n"] = counted["calls"] = len(kept)
        return x + 1

    class Model(torch.nn.Module):
        def forward(self, x):
            return self.remember(step(log, x))

        def remember(self, x, kept=[]):  # noqa: B006
            kept.append(len(x))
            return x

    model = Model()
    for function in (functools.partial(step, log), model):
        assert not find_difference(function, torch.ones(2))
        assert (count, log, told, counted) == (0, [], [], {"calls": 0})
        assert step.__defaults__ == ([],) and step.__kwdefaults__ == {"named": {}}
        assert Model.remember.__defaults__ == ([],)


def test_what_functions_in_attributes_hold_is_put_back(torch, dynamo):
    count, log = 0, []

    def called(x):
        nonlocal count
        count += 1
        return x.sin()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.called = called
            self.note = functools.partial(log.append, 1)

        def forward(self, x):
            self.note()
            return self.called(x)

    find_difference(Model(), torch.ones(2))
    assert (count, log) == (0, [])


def test_a_closures_variable_that_is_left_different_is_told_with_its_line(torch, dynamo):
    count = 0

    def step(x):
        nonlocal count
        if not torch.compiler.is_compiling():
            count += 1
        return x + 1

    (change,) = find_difference(step, torch.ones(2)).state
    assert (change.name, change.eager, change.compiled) == ("count", "1", "0")
    assert change.code == "count += 1" and count == 0


def test_two_variables_of_one_name_are_two(torch, dynamo):
    def counting(late):
        count = [0]

        def step(x):
            if not torch.compiler.is_compiling():
                count[0] += late
            return x + 1

        return step

    early, late = counting(0), counting(1)
    (change,) = find_difference(lambda x: early(late(x)), torch.ones(2)).state
    assert change.name.startswith("count") and change.eager == "1"


def test_a_graph_of_the_callers_is_left_usable(torch, dynamo):
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * 2).sin()  # saves what its backward pass needs
    found = find_difference(lambda y: y.exp(), y)
    assert not found, str(found)
    assert found.backward and len(found.stages) == 5
    y.sum().backward()
    assert x.grad is not None


def test_gradients_that_no_name_leads_to_are_left(torch, dynamo):
    far = torch.ones(3, requires_grad=True)
    far.grad = before = torch.full((3,), 5.0)
    y = far.exp()

    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ZeroDivisionError

    find_difference(lambda y: y * 2, y)
    assert far.grad is before and bool((before == 5).all())
    with pytest.raises(ZeroDivisionError):
        find_difference(lambda y: Failing.apply(y), y)
    assert far.grad is before and bool((before == 5).all())


def resized(tensor, torch):
    tensor.resize_(7).fill_(3)


def rebound(tensor, torch):
    tensor.data = torch.ones(2, dtype=torch.float64)


def freed(tensor, torch):
    tensor.untyped_storage().resize_(0)


@pytest.mark.parametrize("change", [resized, rebound, freed])
def test_shape_and_type_of_a_tensor_are_put_back_in_its_memory(change, torch):
    first, last = torch.zeros(3), torch.zeros(2)
    shared = first.view(3)
    from pellucid.torch.api.program_state import ProgramState

    state = ProgramState(lambda first, last: None, (first, last), {})
    change(first, torch)
    last.fill_(1)
    state.restore()
    assert first.dtype == torch.float32 and first.tolist() == [0, 0, 0]
    assert last.tolist() == [0, 0] and not state.not_put_back
    shared.fill_(4)
    assert first.tolist() == [4, 4, 4]


def test_a_buffer_that_a_graph_is_written_into_is_a_leaf_again(torch, dynamo):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(4, 4)
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x):
            y = self.a(x)
            self.mean.mul_(0.9).add_(y.mean(0))
            return y

    model = Model()
    found = find_difference(model, torch.ones(2, 4))
    assert not found, str(found)
    assert model.mean.is_leaf and not model.mean.requires_grad and not model.mean.any()


def test_what_cannot_be_put_back_is_said_and_the_rest_is_put_back(torch, dynamo):
    whole, weight = torch.zeros(2, 3), torch.ones(3, requires_grad=True)
    part, log, made = whole[0], [], weight * 2

    def step(x):
        log.append(1)
        part.mul_(0.9).add_(weight)
        made.mul_(3)
        return x + 1

    found = find_difference(step, torch.ones(3))
    assert "not put back: made: RuntimeError: its values are as they were" in str(found)
    assert made.tolist() == [2, 2, 2]
    assert "not put back: part: RuntimeError: Can't detach views in-place" in str(found)
    assert log == [] and not whole.any()


def test_an_interrupt_leaves_the_program_as_it_was(torch, dynamo):
    log = []

    def step(x):
        if not torch.compiler.is_compiling():
            log.append(1)
            if sys.gettrace() is not None:
                raise KeyboardInterrupt
        return x + 1

    with pytest.raises(KeyboardInterrupt):
        find_difference(step, torch.ones(2))
    assert log == [] and sys.gettrace() is None
