"""find_difference and programs that draw random numbers."""

import importlib.util

import pytest
from pellucid.torch import find_difference
from support import torch_version

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is not None and torch_version() < (2, 13),
    reason="older torch tells less of where nodes come from",
)


def test_random_numbers_computed_again_are_a_note(torch, dynamo):
    norm = torch.nn.LayerNorm(16)

    def step():
        torch.manual_seed(0)
        return torch.round(norm(torch.randn(6, 16)) * 1000) / 1000 + 1

    found = find_difference(step)
    assert not found, str(found)
    assert "draw random numbers again in the backward pass" in str(found)
