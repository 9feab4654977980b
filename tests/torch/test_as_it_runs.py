"""find_difference and find_nan look at what a program compiled itself, as the program runs it."""

import importlib.util
import linecache
import re

import pytest
from pellucid import load
from pellucid.findings import find
from pellucid.torch import find_difference, find_nan, prepare_debug
from support import PROGRAMS, torch_version

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is not None and torch_version() < (2, 13),
    reason="older torch tells less of where nodes come from",
)

SOURCE = (PROGRAMS / "own_code.py").read_text()
NAMES = re.findall(r"^@fault\(.*\)\ndef (\w+)\(", SOURCE, re.MULTILINE)
LOOPS = re.findall(r"^@tutorial\ndef (\w+)\(", (PROGRAMS / "tutorials.py").read_text(), re.M)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_code_of_the_programs_own_is_found(name, program, torch, dynamo, tmp_path):
    faults = program("own_code")
    function, args = faults.FAULTS[name]()
    with prepare_debug(tmp_path):
        found = find_difference(function, *args)
    assert (found.stage, bool(found)) == ("as it runs", True), str(found)
    assert [one.calls for one in found.compiled] == [found.call]
    assert faults.CAUSES[name] in found.cause and found.remedy, str(found)
    assert "# CALL" in linecache.getline(found.called.file, found.called.line), str(found)
    assert f"the compiled `{found.function}` that your program runs computes" in str(found)
    (told,) = [f for f in find(load(tmp_path)) if f.kind == "difference"]
    assert told.place == found.called and found.cause in told.cause


@pytest.mark.parametrize("name", LOOPS)
def test_training_loops_are_looked_at_as_they_are(name, program, torch, dynamo):
    loop, args = program("tutorials").LOOPS[name]()
    found = find_difference(loop, *args)
    assert not found and found.graphs, str(found)
    assert all(one.calls for one in found.compiled) and "looked at" in str(found)
    report = find_nan(loop, *args)
    assert not report and report.graphs and not report.unseen, str(report)


def trainer(torch, **options):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.drop = torch.nn.Linear(8, 16), torch.nn.Dropout(0.5)
            self.b = torch.nn.Linear(16, 1)

        def forward(self, x):
            return self.b(self.drop(torch.relu(self.a(x))))

    class Trainer:
        def __init__(self):
            self.model = Net()
            self.compiled = torch.compile(self.model, **options)
            self.optimizer = torch.optim.AdamW(self.model.parameters())
            self.seen = 0

        def step(self, x):
            self.seen += 1
            self.model.train()
            self.optimizer.zero_grad()
            loss = self.compiled(x).square().mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            return loss

    return Trainer()


def test_the_usual_training_step_is_looked_at_and_put_back(torch, dynamo):
    training = trainer(torch, backend="aot_eager")
    before = {k: v.clone() for k, v in training.model.state_dict().items()}
    found = find_difference(training.step, torch.ones(3, 8))
    assert not found, str(found)
    (one,) = found.compiled
    assert (one.name.rpartition(".")[0][-3:], one.calls, one.versions) == ("Net", 1, 1)
    assert found.stages == ("eager", "as it runs") and found.backward and found.graphs == 1
    assert all(torch.equal(v, before[k]) for k, v in training.model.state_dict().items())
    assert training.seen == 0 and not training.optimizer.state


def test_a_step_that_is_asked_for_a_nan_is_made_once(torch, dynamo):
    training = trainer(torch, backend="aot_eager")
    report = find_nan(training.step, torch.ones(3, 8))
    assert not report and report.backward, str(report)
    assert training.seen == 1
    assert {int(s["step"]) for s in training.optimizer.state.values()} == {1}
    training.step(torch.ones(3, 8))


def test_what_dropout_draws_is_no_difference_and_what_was_not_compared_is_said(torch, dynamo):
    found = find_difference(trainer(torch).step, torch.ones(3, 8))
    assert not found, str(found)
    assert "draws different random numbers" in str(found) and "not looked at" in str(found)
    assert "set torch._inductor.config.fallback_random = True" in str(found)


def test_random_numbers_that_differ_are_not_called_rounding(torch, dynamo):
    noise = torch.compile(lambda x: x + torch.rand_like(x))
    found = find_difference(lambda: noise(torch.ones(4)))
    assert not found and not found.within_rounding, str(found)
    assert "draws different random numbers" in str(found)


def test_with_the_generator_of_eager_random_numbers_are_compared(torch, dynamo):
    noise = torch.compile(lambda x: x + torch.rand_like(x), options={"fallback_random": True})
    found = find_difference(lambda: noise(torch.ones(4)))
    assert not found and not found.unseen, str(found)


def test_a_function_that_runs_nothing_compiled_is_compiled_and_that_is_said(torch, dynamo):
    def step(x):
        return x.sin()

    found = find_difference(step, torch.ones(3))
    assert found.compiled_here == "step" and not found.compiled
    assert "`step` runs nothing compiled, so it was compiled for this report" in str(found)


def test_what_ran_eager_is_said(torch, dynamo):
    compiled = torch.compile(lambda x: x + 1, backend="eager")

    def step(x):
        with torch.compiler.set_stance("force_eager"):
            return compiled(x)

    found = find_difference(step, torch.ones(3))
    assert "nothing was compiled" in str(found) and "1 of 1 calls ran eager" in str(found)


def test_an_exception_that_the_program_catches_is_no_difference(torch, dynamo):
    table = torch.randn(3, 2)

    @torch.compile(backend="eager")
    def picked(at):
        return table[at] * 2

    def step(at):
        try:
            return picked(at)
        except IndexError:
            return picked(at - 1)

    found = find_difference(step, torch.tensor([1, 3]))
    assert not found and found.compiled[0].calls == 1, str(found)
    assert found.unseen[0].endswith("1 of 2 calls raised an exception")


def test_nested_regions_are_looked_at(torch, dynamo):
    class Block(torch.nn.Linear):
        @torch.compiler.nested_compile_region
        def forward(self, x):
            return torch.relu(super().forward(x))

    model = torch.nn.Sequential(Block(4, 4), Block(4, 4))
    for one in (model, torch.compile(model, backend="aot_eager")):
        assert not find_difference(one, torch.ones(2, 4))
        assert not find_nan(one, torch.ones(2, 4))


def test_a_nan_of_stale_code_alone_is_told(torch, dynamo):
    scale = [float("inf")]

    def none(guards):
        return [guard.guard_type == "TENSOR_MATCH" for guard in guards]

    @torch.compile(backend="aot_eager", options={"guard_filter_fn": none})
    def scaled(x):
        return x * scale[0]

    scaled(torch.ones(2))
    scale[0] = 1.0
    report = find_nan(scaled, torch.ones(2))
    assert report and not report.findings, str(report)
    assert report.as_it_runs[0].startswith("result: float32[2]; 2 Inf")
    assert "only as your program runs it" in str(report)


def test_a_graph_that_the_program_has_built_can_still_be_differentiated(torch, dynamo):
    norm = torch.nn.BatchNorm1d(4)
    head = torch.compile(torch.nn.Sequential(norm, torch.nn.Linear(4, 1)), backend="aot_eager")
    body = torch.nn.Linear(4, 4)

    def step(x):
        hidden = body(x)
        head(hidden).sum().backward()
        return body.weight.grad.clone()

    found = find_difference(step, torch.randn(3, 4))
    assert not found and found.backward, str(found)
    assert body.weight.grad is None and not norm.running_mean.any()


def test_generators_of_random_numbers_are_put_back(torch, dynamo):
    generator = torch.Generator().manual_seed(1)
    before = generator.get_state()
    find_difference(lambda x: x + torch.rand(3, generator=generator), torch.ones(3))
    assert torch.equal(generator.get_state(), before)
