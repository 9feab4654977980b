"""At which line a break is told when torch's stack lacks the function's own."""

import dataclasses

import pytest
from made_captures import FILE, KEY, frame, only
from pellucid.dump.model.events import Break, Place, Started

LIBRARY = Place("/e/site-packages/torch/nn/modules/rnn.py", 1388, "forward")
CALLER, STEP = Place(FILE, 30, "<module>"), Place(FILE, 4, "step")
RESUMED = "torch_dynamo_resume_in_step_at_8"


@pytest.mark.parametrize("resumes, line", [(True, 8), (False, 4)])
def test_a_caller_of_the_function_is_not_where_its_graph_breaks(resumes, line):
    """What is inlined from a library may be all that torch names below the caller."""
    event = Break(KEY, "", "Data dependent operator", "GB1", (), (CALLER, LIBRARY), LIBRARY)
    rest = dataclasses.replace(frame("1/0", 8, RESUMED), parent="0/0")
    events = [Started(KEY, STEP, (CALLER, STEP)), frame(), event, *[rest] * resumes]
    found = only(events)
    assert found.place == Place(FILE, line, "step")
    assert "in a library that this line calls: rnn.py:1388" in found.cause


def test_a_line_below_the_function_is_the_line_of_its_break():
    own = Place(FILE, 9, "step")
    event = Break(KEY, "", "Data dependent operator", "GB1", (), (CALLER, own), own)
    found = only([Started(KEY, STEP, (CALLER, STEP)), frame(), event])
    assert found.place == own
