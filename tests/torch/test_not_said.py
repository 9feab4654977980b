"""What changes results or speed and is in none of torch's reasons: filters, schemas, fall-backs."""

import pellucid
import pytest
from pellucid.comparison.compare import compare
from pellucid.dump.model.events import FilteredGuards, Operator


def only(session, kind):
    (found,) = [finding for finding in session.findings if finding.kind == kind]
    return found


def test_guards_that_the_programs_filter_drops_are_told(dynamo, torch, tmp_path):
    class Layer(torch.nn.Module):
        gain = 1.0

        def forward(self, x):
            return torch.sin(x) * self.gain

    def only_tensors(guards):
        return [guard.guard_type == "TENSOR_MATCH" for guard in guards]

    options = {"guard_filter_fn": only_tensors}
    with pellucid.prepare_debug(tmp_path) as session:
        torch.compile(Layer(), backend="eager", options=options)(torch.ones(2))
    (event,) = session.of(FilteredGuards)
    assert event.name == "only_tensors" and "self.gain" in event.values
    assert 0 < len(event.dropped) < event.number
    found = only(session, "filtered")
    assert found.code == "return torch.sin(x) * self.gain"
    assert "`self.gain`" in found.cause and "may be wrong" in found.cause


def test_torchs_own_filter_is_not_the_programs(dynamo, torch, tmp_path):
    with pellucid.prepare_debug(tmp_path) as session:
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert session.of(FilteredGuards) == []


def test_a_schema_that_changed_is_told_by_diff(dynamo, torch, tmp_path):
    for number, mutates in enumerate([(), ("total",)]):

        @torch.library.custom_op("lab_diff::add_to", mutates_args=mutates)
        def add_to(total: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        add_to.register_fake(lambda total, x: torch.empty_like(x))
        dynamo.reset()
        with pellucid.prepare_debug(tmp_path / str(number)) as session:
            torch.compile(lambda t, x: add_to(t, x) + t, backend="eager")(
                torch.ones(2), torch.ones(2)
            )
        assert [event.name for event in session.of(Operator)] == ["lab_diff.add_to"]
    index = (tmp_path / "1" / "index.md").read_text(encoding="utf-8")
    assert "- `lab_diff::add_to(Tensor(a0!) total, Tensor x) -> Tensor`" in index
    first = compare(tmp_path / "0", tmp_path / "1").changes[0]
    assert (first.kind, first.where, first.words) == (
        "operator",
        "lab_diff.add_to",
        "the schema differs",
    )


@pytest.mark.thorough
def test_complex_numbers_fall_back_to_eagers_kernels(dynamo, torch, tmp_path):
    def rotate(x):
        y = x * 2
        return y + x

    with pellucid.prepare_debug(tmp_path) as session:
        torch.compile(rotate)(torch.ones(4, dtype=torch.complex64))
    found = only(session, "fallback")
    assert "no code for complex numbers" in found.cause and "`mul`, `add`" in found.cause
    assert "view_as_real" in found.remedy
    line = rotate.__code__.co_firstlineno
    assert [each.place.line for each in found.lines] == [line + 1, line + 2]
