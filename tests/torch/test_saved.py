"""What forward graphs keep for the backward pass: bytes as autograd sees them, and why."""

import json

import pellucid
import pytest
from pellucid.dump.model.events import Place, Problem, Saved
from pellucid.dump.model.memory import size_in_words
from pellucid.dump.model.needs import sizes_of
from pellucid.dump.model.nodes import Node
from pellucid.dump.model.saved import saved_by
from pellucid.findings import find
from pellucid.torch import prepare_debug
from pellucid.torch.taps import hooks
from support import torch_version


def kept(torch, function, arguments, directory, **options):
    """Run a function compiled, and return what it keeps and what autograd is given to keep."""
    given = []

    def pack(tensor):
        given.append(tensor.numel() * tensor.element_size())
        return tensor

    with prepare_debug(directory) as session:
        compiled = torch.compile(function, backend="aot_eager", **options)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            result = compiled(*arguments)
    assert session.of(Problem) == []
    (saved,) = session.of(Saved)
    return saved, given, result


@pytest.fixture(scope="module")
def model(torch, tmp_path_factory):
    """What a small model keeps, what autograd was given, and the directory."""
    torch._dynamo.reset()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = torch.nn.Linear(16, 32), torch.nn.LayerNorm(32)
            self.last, self.drop = torch.nn.Linear(32, 4), torch.nn.Dropout(0.5)

        def forward(self, x):
            h = torch.nn.functional.gelu(self.norm(self.first(x)))
            return self.last(self.drop(h)).softmax(-1)

    directory = tmp_path_factory.mktemp("saved")
    yield (*kept(torch, Model(), (torch.randn(8, 16),), directory)[:2], directory)
    torch._dynamo.reset()


def test_bytes_are_those_that_autograd_keeps(model):
    saved, given, _ = model
    assert sorted(tensor.bytes for tensor in saved.tensors) == sorted(given)
    assert saved.bytes == sum(given) > saved.extra > 0
    assert saved.given == 4 * (16 * 32 + 32 + 32 + 32 + 32 * 4 + 4 + 8 * 16)


def test_each_tensor_says_what_it_is_and_why_it_is_kept(model):
    saved, _, _ = model
    by_source = {tensor.source: tensor for tensor in saved.tensors if tensor.source}
    assert by_source["self.last.weight"].kind == "parameter" and by_source["x"].kind == "input"
    made = {tensor.operation: tensor for tensor in saved.tensors if tensor.operation}
    assert made["aten.addmm.default"].why.startswith("a matrix multiplication")
    assert made["aten.addmm.default"].shape == ("8", "32")
    assert made["aten.native_dropout.default"].why.startswith("random numbers")
    norm = made["aten.native_layer_norm.default"]
    assert (
        "`aten.native_layer_norm` is not an operation that torch recomputes" in norm.why
        and norm.is_extra
    )
    lines = {tensor.place.line for tensor in saved.tensors}
    assert {tensor.place.file for tensor in saved.tensors} == {__file__} and len(lines) == 2
    assert [t.shape for t in saved.tensors if t.kind == "result"] == [("8", "4")]


def test_dump_index_and_record_have_it(model):
    saved, _, directory = model
    assert pellucid.load(directory).of(Saved) == [saved]
    index = (directory / "index.md").read_text(encoding="utf-8")
    assert "## Saved for the backward pass" in index and saved.summary in index
    assert "`addmm`: float32[8, 32] | 1,024 | `test_saved.py:" in index
    record = json.loads((directory / "session.json").read_text(encoding="utf-8"))
    (event,) = (event for event in record["events"] if event["event"] == "Saved")
    assert event["tensors"][0]["bytes"] == saved.tensors[0].bytes


def test_sizes_are_those_that_torch_compiled_for(dynamo, torch, tmp_path):
    def f(x, w):
        h = torch.tanh(x @ w)
        return (h.cumsum(0).exp() @ w.t()).sum()

    x, w = torch.randn(8, 16, requires_grad=True), torch.randn(16, 32, requires_grad=True)
    saved, given, _ = kept(torch, f, (x, w), tmp_path, dynamic=True)
    assert any("s" in size for tensor in saved.tensors for size in tensor.shape)
    assert sorted(tensor.bytes for tensor in saved.tensors) == sorted(given)


def node(name, target, *args, shape=("8",), dtype="float32", line=3):
    op = "placeholder" if target == name else "call_function"
    target = target if op == "placeholder" or "." not in target else f"torch.ops.{target}"
    place = None if op == "placeholder" else Place("/m.py", line, "f")
    return Node(name, op, target, 1, place, shape, dtype, "cpu", None, args)


def test_a_tensor_that_takes_no_memory_of_its_own_is_not_counted():
    forward = [
        node("primals_1", "primals_1"),
        node("mm", "aten.mm.default", "primals_1"),
        node("view", "aten.view.default", "mm"),
        node("view_1", "aten.view.default", "mm"),
        node("t", "aten.t.default", "primals_1"),
        node("rand", "aten.rand.default"),
        node("gt", "aten.gt.Scalar", "rand", dtype="bool"),
        node("add", "aten.add.Tensor", "primals_1", "gt"),
    ]
    names = ["view", "view_1", "t", "gt", "add"]
    backward = [
        *(node(name, name) for name in [*names, "tangents_1"]),
        node("use", "aten.view.default", "add"),
        node("mm_1", "aten.mm.default", "use", "tangents_1"),
    ]
    _, tensors = saved_by(forward, backward, ["add", *names], {})
    assert [(t.name, t.kind, t.bytes) for t in tensors] == [
        ("view", "computed", 32),
        ("view_1", "view", 32),
        ("t", "view", 32),
        ("gt", "computed", 8),
        ("add", "result", 32),
    ]
    assert "shares the memory of `view`" in tensors[1].why
    assert tensors[3].why == "recomputing it would require saving `rand` instead: 32 B"
    _, tensors = saved_by(forward, backward, names, {}, again=["aten.add", "aten.gt"])
    assert tensors[4].why == "`aten.mm` in the backward pass reads all of it from memory"


def test_what_torch_never_computes_again_is_known(torch):
    again = hooks.computed_again()
    if torch_version() >= (2, 8):
        assert again is not None and {"aten.add", "aten.sum"} <= again
        assert {"aten.mm", "aten.convolution", "aten.native_dropout"}.isdisjoint(again)


def test_much_that_is_kept_is_a_finding(dynamo, torch, tmp_path):
    def f(x):
        y = x.expand(4096, 4096) * 2
        return y.exp().sin().sum()  # exp and sin keep 64 MiB each

    with prepare_debug(tmp_path):
        torch.compile(f, backend="aot_eager")(torch.randn(4096, requires_grad=True))
    capture = pellucid.load(tmp_path)
    (found,) = (finding for finding in find(capture) if finding.kind == "memory")
    (saved,) = capture.of(Saved)
    assert f"keeps {size_in_words(saved.extra)} for the backward pass" in found.cause
    assert found.place.file == __file__ and "checkpoint" in found.remedy
    assert found.links[0].line > 0
    assert sizes_of("2, 3", {}) == (2, 3)


def test_graph_that_names_a_value_twice_ends():
    forward = [
        node("primals_1", "primals_1"),
        node("view", "aten.sin.default", "primals_1"),
        node("view", "aten.view.default", "view"),
        node("item", "operator.getitem", "item"),
    ]
    backward = [node("view", "view"), node("item", "item")]
    _, tensors = saved_by(forward, backward, ["view", "item"], {})
    assert {tensor.name for tensor in tensors} <= {"view", "item"}


def test_size_of_many_digits_has_words():
    assert size_in_words(10**320).endswith(" TiB")
