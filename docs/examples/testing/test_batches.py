import torch
from model import Head


def test_batches(pellucid_capture):
    torch.manual_seed(0)
    head = torch.compile(Head(), backend="aot_eager")
    for size in (4, 6):
        head(torch.ones(size, 8))
    pellucid_capture.assert_snapshot()
