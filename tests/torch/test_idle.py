"""What Dynamo writes for itself alone, and has no effect, is not shown; what is shown is proven."""

from pathlib import Path

import pytest
from pellucid.dump.model.events import Frame
from pellucid.torch import prepare_debug


@pytest.fixture
def idle(program, dynamo):
    return program("idle")


def frames_of(torch, directory: Path, function, *arguments):
    """The frames of a call, after a look at its result."""
    expected = function(*arguments)
    with prepare_debug(directory) as session:
        assert torch.equal(torch.compile(function, backend="eager")(*arguments), expected)
    frames = session.of(Frame)
    assert frames and all(frame.swapped for frame in frames)
    return frames


def test_no_frame_shows_how_a_null_is_taken_from_the_stack(idle, torch, tmp_path):
    from zoo.model_run import idle_lines

    frames = frames_of(torch, tmp_path, idle.lists, torch.ones(2))
    for frame in frames:
        assert "_const_lambda" not in frame.source
        assert not idle_lines(frame.source)


def test_no_frame_stores_an_argument_where_it_is(idle, torch, tmp_path):
    from zoo.model_run import idle_lines

    frames = frames_of(torch, tmp_path, idle.argument_in_a_cell, torch.ones(2), 3)
    assert [idle_lines(frame.source) for frame in frames] == [[]] * len(frames)
    assert "n = n" not in frames[0].source


def test_a_frame_stores_what_was_changed(idle, torch, tmp_path):
    frames = frames_of(torch, tmp_path, idle.changed_in_a_cell, torch.ones(2), 3)
    assert "n = 4" in frames[0].source


def test_a_list_waits_on_the_stack_while_a_dict_is_filled(idle, torch, tmp_path):
    held = idle.Held()
    frames = frames_of(torch, tmp_path, idle.filled_and_emptied, torch.ones(2), held)
    assert [len(frame.source.split("[]")) for frame in frames] == [2]
    assert held.ordered == {1: 0} and held.emptied == []
