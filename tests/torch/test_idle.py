"""What Dynamo writes for itself alone, and has no effect, is not shown; what is shown is proven."""

import sys
from pathlib import Path

import pytest
from pellucid.torch import prepare_debug
from pellucid.torch.events import Frame

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))


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
    from model_run import idle_lines

    frames = frames_of(torch, tmp_path, idle.lists, torch.ones(2))
    for frame in frames:
        assert "_const_lambda" not in frame.source
        assert not idle_lines(frame.source)
