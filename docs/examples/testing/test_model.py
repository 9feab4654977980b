import torch
from model import Head
from pellucid.testing import assert_compiles


def test_head_compiles():
    torch.manual_seed(0)
    head = torch.compile(Head(), backend="aot_eager")
    assert_compiles(head, torch.ones(4, 8))
