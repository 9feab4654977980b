"""A graph that goes through a stage as it is, is printed once; what a capture adds is small."""

import cProfile
import logging
import os
import pstats
from pathlib import Path
from typing import Any, Dict, List

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from pellucid.torch import prepare_debug  # noqa: E402
from pellucid.torch.taps.hooks import PROBE  # noqa: E402
from pellucid.torch.taps.printed import Printed  # noqa: E402

NODES = 400


def chain(x: Any) -> Any:
    for _ in range(NODES // 2):
        x = torch.sin(x * 1.01)
    return x


def of_unknown_size(x: Any) -> Any:
    """torch asserts of the size that it is none below zero, after it has shown the graph."""
    return torch.nonzero(x).shape[0] + x


def compiled(function: Any) -> None:
    torch._dynamo.reset()
    torch.compile(function, backend="eager")(torch.ones(3))


def printed_for(folder: Path, function: Any, monkeypatch: pytest.MonkeyPatch) -> List[str]:
    """The texts that torch.fx prints while a function is captured."""
    texts: List[str] = []
    original = torch.fx.GraphModule.print_readable

    def print_readable(self: Any, *args: Any, **kwargs: Any) -> str:
        texts.append(original(self, *args, **kwargs))
        return texts[-1]

    with monkeypatch.context() as patch:
        patch.setattr(torch.fx.GraphModule, "print_readable", print_readable)
        with prepare_debug(folder):
            compiled(function)
    return texts


def bodies(folder: Path) -> Dict[str, str]:
    """The dumped graphs without the comments at their heads."""
    found = {}
    for file in sorted(folder.glob("__compiled_fn_*.py")):
        text = file.read_text(encoding="utf-8")
        found[file.name] = text[text.index("\nclass ") :]
    return found


@pytest.fixture
def needs_both_stages() -> None:
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        pytest.skip("this torch shows its graph once")


@pytest.mark.usefixtures("needs_both_stages")
def test_a_graph_that_does_not_change_is_printed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(printed_for(tmp_path, chain, monkeypatch)) == 1
    texts = bodies(tmp_path)
    assert len(texts) == 2 and len({*texts.values()}) == 1


@pytest.mark.usefixtures("needs_both_stages")
def test_a_graph_that_changes_is_printed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        assert len(printed_for(tmp_path, of_unknown_size, monkeypatch)) == 2
    before, after = sorted(bodies(tmp_path).values(), key=len)
    assert "_assert" in after and before != after


def test_the_text_is_the_one_that_torch_prints(tmp_path: Path) -> None:
    log = PROBE.get("trace_log")
    other = logging.NullHandler()
    with prepare_debug(tmp_path / "ours"):
        compiled(chain)
    log.addHandler(other)  # torch makes every event where anybody else listens
    try:
        with prepare_debug(tmp_path / "torch"):
            compiled(chain)
    finally:
        log.removeHandler(other)
    assert bodies(tmp_path / "ours") == bodies(tmp_path / "torch")


def test_only_an_unchanged_graph_has_the_text_that_was_printed() -> None:
    graph = torch.fx.symbolic_trace(lambda x: torch.sin(x) + 1)

    def make() -> str:
        return graph.print_readable(print_output=False, include_stride=True, include_device=True)

    printed = Printed()
    assert printed.text(make) is None
    printed.keep(graph, "as printed")
    assert printed.text(make) == "as printed"
    assert printed.text(lambda: graph.print_readable(print_output=False)) is None
    assert printed.text(lambda: str(graph)) is None
    assert printed.text(str) is None
    node = next(node for node in graph.graph.nodes if node.op == "call_function")
    node.meta["val"] = torch.ones(2)
    assert printed.text(make) is None
    printed.keep(graph, "as printed now")
    node.args = (node.args[0],)
    assert printed.text(make) is None
    printed.keep(graph, "and now")
    printed.forget()
    assert printed.text(make) is None


def calls(captured: bool, folder: Path) -> int:
    """How many calls of functions a compile takes."""
    profile = cProfile.Profile()
    torch._dynamo.reset()
    profile.enable()
    if captured:
        with prepare_debug(folder):
            torch.compile(chain, backend="eager")(torch.ones(3))
    else:
        torch.compile(chain, backend="eager")(torch.ones(3))
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="the figure is of one torch")
def test_what_a_capture_adds_to_a_compile_is_small(tmp_path: Path) -> None:
    for captured in (False, True):  # what is done once in a process is not of the graph
        calls(captured, tmp_path / "first")
    without, with_capture = (calls(captured, tmp_path / "then") for captured in (False, True))
    assert (with_capture - without) / NODES < 400, (without, with_capture)
