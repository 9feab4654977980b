"""find_nan names the operation, the user's line and the line of the dumped graph."""

import linecache
import re
import subprocess
import tempfile

import pytest
from pellucid.dump.model.events import NonFinite
from pellucid.torch import find_nan, prepare_debug
from support import PROGRAMS, run_env, torch_version, warm_python

FUNCTION = re.compile(
    r"^def (\w+)\(x\)|^FAULTS\[\"(\w+)\"\]",
    re.MULTILINE,
)
NAMES = [
    (file, function or entry)
    for file in ("faults", "more_faults")
    for function, entry in FUNCTION.findall((PROGRAMS / f"{file}.py").read_text())
]
GRAPHS_OF_OPERATIONS = ("in_a_branch_", "in_a_loop_")


@pytest.mark.parametrize(("file", "name"), NAMES)
def test_fault_is_named(program, dynamo, torch, tmp_path, file, name):
    if torch_version() < (2, 13) and name.startswith(GRAPHS_OF_OPERATIONS):
        pytest.skip("captured in another way, or not at all")
    faults = program(file)
    function, args, stage, operation, options = faults.FAULTS[name]
    with prepare_debug(tmp_path):
        report = find_nan(torch.compile(function, **options) if options else function, *args)
    first = report.first
    assert first is not None, str(report)
    assert (first.stage, first.operation.split(".")[1].strip("_")) == (stage, operation.strip("_"))
    line = linecache.getline(faults.__file__, first.place.line)
    # In torch 2.4 an operation of a user's own backward has the line of its forward.
    is_forward = torch_version() < (2, 13) and ".apply(x" in line
    assert "# FAULT" in line or is_forward, f"{first.place}: {line}"
    made = (tmp_path / first.file).read_text().split("\n")[first.line - 1]
    assert made.strip().startswith(first.node)
    assert first.operation in made
    assert not any(values.nan for values in first.inputs)


def test_clean_run_says_so(torch, dynamo):
    report = find_nan(lambda x: (x * 2).sum(), torch.ones(3, requires_grad=True))
    assert not report
    assert "clean" in str(report)
    assert "forward and backward" in str(report)


def test_nothing_compiled_is_not_called_clean(torch, dynamo):
    assert "nothing was compiled" in str(find_nan(lambda: 1))


def test_what_torch_leaves_as_it_is_is_named(torch, dynamo):
    def caught(x):
        try:
            return x.log().item()
        except ValueError:
            return 0

    report = find_nan(caught, torch.ones(1))
    assert [event.place.function for event in report.left] == ["caught"]
    told = str(report)
    assert "nothing was compiled" in told
    assert re.search(r"not compiled: caught \(.*test_nan.py:\d+\): .*Tensor.item", told)


def test_input_that_holds_nan_is_blamed_itself(torch, dynamo):
    report = find_nan(lambda x: x.sin() + 1, torch.tensor([1.0, float("nan")]))
    assert report.first.stage == "input"
    assert "NaN came into a compiled graph from outside, in x, compile [0/0]" in str(report)


WEIGHTS = {
    "self.layers.1.weight": "y = self.layers(x)",
    "self.layers.1.bias": "y = self.layers(x)",
    "self.scale": "y = y * self.scale",
    "self.mean": 'return y - self.mean + more["bias"]',
    "more['bias']": 'return y - self.mean + more["bias"]',
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_value_that_came_from_outside_has_the_programs_name_and_line(
    name, program, torch, dynamo, tmp_path
):
    more = {"bias": torch.ones(2)}
    model = program("weights").Scaled()
    path = name.replace("self.", "", 1).split(".")
    owner = model.get_submodule(".".join(path[:-1]))
    value = more["bias"] if name == "more['bias']" else getattr(owner, path[-1])
    with torch.no_grad():
        value.view(-1)[1] = float("nan")
    with prepare_debug(tmp_path):
        report = find_nan(model, torch.ones(1, 3), more)
    first = report.first
    assert (first.stage, first.operation, first.code) == ("input", name, WEIGHTS[name])
    assert linecache.getline(first.place.file, first.place.line).strip() == WEIGHTS[name]
    assert f"from outside, in {name}, compile" in str(report)
    assert "your line" in str(report) and WEIGHTS[name] in str(report)
    taken = (tmp_path / first.file).read_text().split("\n")[first.line - 1]
    assert taken.strip().startswith(first.node)
    index = (tmp_path / "index.md").read_text()
    assert f"`{name}` was passed in with NaN at" in index


def left_behind(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("pellucid"))


def test_a_report_that_names_no_file_leaves_no_folder(torch, dynamo, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    clean = find_nan(lambda x: x * 2, torch.ones(3))
    assert not clean and clean.directory is None
    find_nan(lambda: 1)
    with pytest.raises(LookupError):
        find_nan(torch.compiler.disable(lambda x: {}[0]), torch.ones(3))
    assert left_behind(tmp_path) == []
    report = find_nan(lambda x: x.log(), -torch.ones(3))
    assert (report.directory / report.first.file).exists()
    assert left_behind(tmp_path) == [report.directory.name]


def test_masked_infinity_is_told_apart(torch, dynamo):
    report = find_nan(lambda x: torch.where(x > 0, x.log(), 0.0), torch.tensor([0.0, 1.0]))
    assert report.first.operation == "aten.log.default"
    assert not report.first.reached
    assert "no result contains it" in str(report)


def test_gradients_of_the_program_stay(torch, dynamo):
    model = torch.nn.Linear(2, 2)
    model(torch.ones(1, 2)).sum().backward()
    before = [p.grad.clone() for p in model.parameters()]
    report = find_nan(model, torch.full((1, 2), 1e38) * 10)
    assert report
    assert all(torch.equal(p.grad, b) for p, b in zip(model.parameters(), before))


def test_what_the_program_compiled_runs_as_before(torch, dynamo):
    calls = []

    def backend(graph, inputs):
        calls.append("compile")
        return graph.forward

    compiled = torch.compile(lambda x: x.log(), backend=backend)
    compiled(torch.ones(2))
    find_nan(compiled, torch.zeros(2))
    compiled(torch.ones(2))
    assert calls == ["compile"]


def test_findings_are_in_the_record_of_an_open_capture(torch, dynamo, tmp_path):
    with prepare_debug(tmp_path) as session:
        find_nan(lambda x: x.log(), torch.tensor([-1.0]))
    (finding,) = session.of(NonFinite)
    assert finding.file in session.files()
    assert "aten.log.default" in (tmp_path / "index.md").read_text()


def test_what_comes_from_a_backward_pass_that_is_not_compiled_is_told_apart(torch, dynamo):
    def masked(x):
        return torch.where(x > 5, x.log(), x * 2)

    def masked_by_method(x):  # older torch leaves a frame alone that gets `torch` from a fixture
        return x.log().where(x > 5, x * 2)

    first = torch.compile(masked if torch_version() >= (2, 13) else masked_by_method)
    second = torch.compile(lambda x: x * 3)

    @torch.compiler.disable
    def root(x):
        return x.sqrt()

    def step(x):
        kept = first(x)  # its log makes an infinity, which reaches nothing
        root(second(kept)).sum().backward()  # the square root makes one that does
        return x.grad

    report = find_nan(step, torch.zeros(3, requires_grad=True))
    made = {finding.operation: finding for finding in report.findings}
    assert not made["aten.log.default"].reached
    (entered,) = [finding for finding in report.findings if finding.stage == "input"]
    assert report.first == entered
    assert "came into a compiled graph from outside, in tangents_1" in str(report)


@pytest.mark.parametrize("inside", [True, False])
def test_a_program_without_graphs_is_warned_of_once(inside, torch, dynamo, tmp_path, recwarn):
    if inside:
        with prepare_debug(tmp_path):
            find_nan(lambda: 1)
    else:
        find_nan(lambda: 1)
    told = [str(w.message) for w in recwarn if "nothing was compiled" in str(w.message)]
    assert len(told) == inside, "alone the report says it"


def test_command_line(torch, tmp_path):
    script = tmp_path / "made.py"
    script.write_text(
        "import torch\n\n\n@torch.compile(backend='eager')\ndef log(x):\n    return x.log()\n\n\n"
        "def step():\n    return log(-torch.ones(2))\n"
    )
    for function, status, said in (("step", 1, f"{script}:6"), ("absent", 2, "no function absent")):
        command = [warm_python(), "-m", "pellucid", "find-nan", f"{script}:{function}"]
        done = subprocess.run(command, env=run_env(), capture_output=True, text=True, timeout=300)
        assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done
