"""What Dynamo rarely has to write down is proven as well, and runs from its file."""

import pytest
from pellucid.dump.model.events import Frame
from pellucid.torch import prepare_debug
from support import torch_version

FUNCTIONS = [
    "makes_a_module",
    "looks_a_frozenset_up",
    "empty_set_beside_a_graph_break",
    "returns_a_module_of_torch",
    "fills_a_dictionary_and_a_list",
    "calls_a_comprehension",
    "indexes_with_a_slice_that_is_a_constant",
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_frame_is_proven_and_runs(name, program, dynamo, torch, tmp_path, valid_python):
    if name == "looks_a_frozenset_up" and torch_version() < (2, 9):
        pytest.skip("this torch makes no frozenset of a list: its own bytecode calls a number")
    module = program("uncommon")
    function, x = getattr(module, name), torch.ones(3)
    expected = function(x)
    with prepare_debug(tmp_path) as session:
        found = torch.compile(function, backend="eager")(x)
    frames = session.of(Frame)
    assert frames
    assert [f.verdict for f in frames if f.verdict.status not in ("identical", "equivalent")] == []
    assert [f.file for f in frames if not f.swapped] == []
    assert repr(found) == repr(expected)
    assert valid_python(tmp_path) == []
    assert not any("_const_slice" in path.read_text() for path in tmp_path.glob("*.py"))
