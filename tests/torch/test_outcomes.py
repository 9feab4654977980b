"""What became of calls of compiled functions, where torch's trace does not say."""

import pytest
from pellucid import load
from pellucid.dump.model.events import (
    Break,
    LateHook,
    Passed,
    Recompile,
    Skipped,
    Stance,
    Unbacked,
)
from pellucid.findings import find
from pellucid.findings.counts import counts_of
from pellucid.torch import prepare_debug
from support import torch_version

NEWEST = (2, 13)


def newest(torch):
    if torch_version() < NEWEST:
        pytest.skip("older releases do not tell")


def test_an_error_that_the_program_saw_is_told_from_a_frame_that_is_left(torch, dynamo, tmp_path):
    def wrong(x):
        y = x.sin()
        return y.view(7)

    def caught(x):
        try:
            return x.log().item()
        except ValueError:
            return 0

    with prepare_debug(tmp_path) as s:
        with pytest.raises(RuntimeError):
            torch.compile(wrong, backend="eager")(torch.ones(3))
        torch.compile(caught, backend="eager")(torch.ones(1))
    seen = {event.place.function: event for event in s.of(Skipped)}
    assert seen["wrong"].raised and not seen["caught"].raised
    assert seen["wrong"].at.line == wrong.__code__.co_firstlineno + 2
    (failed,) = [f for f in find(load(tmp_path)) if f.kind == "failed"]
    assert failed.place.line == wrong.__code__.co_firstlineno + 2 and "view" in failed.cause
    index = (tmp_path / "index.md").read_text()
    assert index.startswith("# What torch.compile produced\n\n## Findings")
    assert "## Compiles that failed" in index and "## Skipped frames" in index


def test_an_export_that_fails_outside_dynamo_names_its_line(torch, dynamo, tmp_path):
    newest(torch)

    class Cut(torch.nn.Module):
        def forward(self, x, lengths):
            x = x[: lengths.max().item()]
            return x[::2] if x.shape[0] > 4 else x

    with prepare_debug(tmp_path) as session, pytest.raises(Exception, match="data-dependent"):
        torch.export.export(Cut(), (torch.ones(8), torch.tensor([2, 7])))
    line = Cut.forward.__code__.co_firstlineno + 2
    (failed,) = find(load(tmp_path))
    assert (failed.kind, failed.place.file, failed.place.line) == ("failed", __file__, line)
    assert "tensor's values" in failed.cause and "> 4" in failed.cause
    assert all(event.place is None for event in session.of(Unbacked))  # not a line of ours
    assert counts_of([load(tmp_path)], ()).compiled == "nothing compiled"


def test_an_export_that_fails_after_its_trace_is_a_finding(torch, dynamo, tmp_path):
    newest(torch)

    class Mean(torch.nn.Module):
        def forward(self, x):
            return x.sum(0) / x.shape[0]

    sizes = {"x": {0: torch.export.Dim("batch", min=1, max=8)}}
    with pytest.raises(Exception, match="specialized"), prepare_debug(tmp_path):
        torch.export.export(Mean(), (torch.ones(1, 4),), dynamic_shapes=sizes)
    (failed,) = find(load(tmp_path))
    assert failed.cause.endswith("batch was given as dynamic, but is fixed to 1")
    assert failed.place.file == __file__ and "at least 2" in failed.remedy


def test_a_break_where_none_is_allowed_reaches_the_program(torch, dynamo, tmp_path):
    def printing(x):
        print("here")
        return x + 1

    strict = torch.compile(printing, backend="eager", fullgraph=True)
    with prepare_debug(tmp_path) as session, pytest.raises(RuntimeError):
        strict(torch.ones(3))
    (event,) = session.of(Skipped)
    assert event.raised


def test_breaks_and_recompiles_are_recorded_as_values_and_do_not_warn(
    torch, dynamo, tmp_path, recwarn
):
    def f(x):
        dynamo.graph_break()
        return x * 2

    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(f, backend="eager")
        for n in (2, 5):
            compiled(torch.ones(n))
    assert not [w for w in recwarn if "pellucid" in str(w.message)]
    stop = session.of(Break)[0]
    assert stop.place.line == f.__code__.co_firstlineno + 1
    assert stop.kind and stop.frames[-1].line == stop.place.line
    failure = session.of(Recompile)[0].failures[0]
    if torch_version() >= (2, 6):
        assert (failure.kind, failure.expected, failure.actual) == ("size", "2", "5")
        assert failure.source == "x.size(0)" and failure.version is not None
    again = load(tmp_path)
    assert again.of(Break) == session.of(Break) and again.of(Recompile) == session.of(Recompile)


def test_a_generator_function_is_told(torch, dynamo, tmp_path):
    newest(torch)

    def rows(x):
        for row in x:
            yield row * 2

    with pytest.warns(RuntimeWarning, match="1 not compiled"), prepare_debug(tmp_path) as session:
        assert len(list(torch.compile(rows, backend="eager")(torch.ones(2, 2)))) == 2
    assert [event.place.function for event in session.of(Passed)] == ["rows"]


def test_stances_are_told_with_the_lines_that_call_under_them(torch, dynamo, tmp_path):
    newest(torch)

    @torch.compile(backend="eager", dynamic=False)
    def f(x):
        return x + 1

    with prepare_debug(tmp_path) as session:
        f(torch.ones(3))
        with torch.compiler.set_stance("force_eager"):
            f(torch.ones(4))
        with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError):
            f(torch.ones(5))
    first = test_stances_are_told_with_the_lines_that_call_under_them.__code__.co_firstlineno
    told = [(e.stance, e.place.line - first, e.function) for e in session.of(Stance)]
    assert told == [("force_eager", 10, ""), ("fail_on_recompile", 12, "f")]
    assert torch._dynamo.eval_frame._callback_from_stance.__module__.startswith("torch.")


@pytest.mark.parametrize("gone", [False, True])
def test_hooks_that_come_too_late_are_told_also_of_modules_that_are_gone(
    gone, torch, dynamo, tmp_path
):
    def used():
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        net[0].register_forward_hook(lambda m, a, o: None)
        compiled = torch.compile(net, backend="eager")
        compiled(torch.ones(1, 2))
        net[1].register_forward_hook(lambda m, a, o: None)
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
        return net

    with prepare_debug(tmp_path) as session:
        kept = used()
        if gone:
            del kept
    (event,) = session.of(LateHook)
    assert event.module == "1 (ReLU)" and event.place.line == used.__code__.co_firstlineno + 5


def test_nothing_of_ours_stays_in_torch(torch, dynamo, tmp_path):
    from torch._dynamo import convert_frame, eval_frame, guards

    def functions():
        names = (
            "add_skip_reason",
            "_callback_from_stance",
            "get_and_maybe_log_recompilation_reasons",
        )
        return [getattr(m, n, None) for m, n in zip((convert_frame, eval_frame, guards), names)]

    before = functions()
    with prepare_debug(tmp_path):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert functions() == before
