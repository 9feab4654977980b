"""depyf's README example under every backend: nothing changes, and everything is proven."""

import ast
import re

import pytest
from pellucid.dump.model.events import Break, Frame, Graph, Problem, Recompile


def same_bits(torch, ours, theirs):
    return len(ours) == len(theirs) and all(
        a.dtype == b.dtype and torch.equal(a.view(torch.int32), b.view(torch.int32))
        for a, b in zip(ours, theirs)
    )


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_nothing_changes_and_every_frame_runs_from_its_file(
    backend, dynamic, grad, torch, dynamo, program, observed, valid_python, tmp_path
):
    from pellucid.torch import prepare_debug

    without = program("toy").run(backend, dynamic, grad)
    counted_without = observed()
    dynamo.reset()
    dynamo.utils.counters.clear()
    dynamo.utils.clear_compilation_metrics()
    with prepare_debug(tmp_path) as session:
        with_us = program("toy").run(backend, dynamic, grad)
    assert observed() == counted_without
    assert same_bits(torch, with_us, without)

    frames = session.of(Frame)
    assert [f.verdict.reason for f in frames if not f.verdict.proven] == []
    assert [f.file for f in frames if not f.swapped] == []
    assert len(frames) == 3
    assert session.of(Problem) == []
    assert len(session.of(Break)) == 1  # torch's own counter leaves out breaks at a branch
    assert len(session.of(Recompile)) == counted_without["recompiles"] == 0

    assert valid_python(tmp_path) == []
    stages = {graph.stage for graph in session.of(Graph)}
    expected = {"captured"}
    if backend != "eager":
        expected |= {"joint", "forward", "backward"} if grad else {"inference"}
    if backend == "inductor":
        expected |= {f"inductor_{s}" for s in expected & {"forward", "backward", "inference"}}
    assert stages >= expected
    last = "inductor" if backend == "inductor" else "forward" if grad else "inference"
    runs = {graph.stage for graph in session.running_graphs()}
    assert any(stage.startswith("captured" if backend == "eager" else last) for stage in runs)
    assert (tmp_path / "full_code_for_toy_example_0.py").exists()
    assert (tmp_path / "__transformed_code_0_0_for_toy_example.py").exists()
    assert (tmp_path / "__compiled_fn_0_0.captured.py").exists()
    reads_well(tmp_path / "__transformed_code_0_0_for_toy_example.py")


def reads_well(file):
    """A dozen statements at most, tied to the user's lines, and no name that says nothing."""
    text = file.read_text()
    (function,) = ast.parse(text).body
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    assert len(statements) - 1 <= 12, text
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    assert not [n for n in names if re.match(r"(tmp|temp|__temp|graph_out|result)_\d+$", n)], text
    assert "# toy.py" in text and "b = b * -1" in text and "return x * b" in text
    without_effect = (ast.Name, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Lambda)
    for statement in statements:
        assert not isinstance(getattr(statement, "value", None), without_effect) or not isinstance(
            statement, ast.Expr
        ), text
