"""A graph is called with every parameter of the model: hundreds of arguments in one call."""

import pytest
from pellucid.dump.model.events import Frame
from pellucid.torch import prepare_debug
from support import torch_version


@pytest.mark.parametrize("count", [10, 400, 1500])
def test_the_call_of_a_graph_is_proven_however_many_parameters_there_are(
    count, torch, dynamo, tmp_path
):
    class Many(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ParameterList(torch.full((1,), float(n)) for n in range(count))

        def forward(self, x):
            return torch.cat([x, *(self.parameters() if old else self.parts)]).sum()

    old = torch_version() < (2, 13)

    with prepare_debug(tmp_path) as session:
        result = torch.compile(Many(), backend="eager")(torch.ones(1))
    assert result.item() == 1 + count * (count - 1) / 2
    (frame,) = session.of(Frame)
    assert frame.verdict.reason == ""
    assert frame.swapped
