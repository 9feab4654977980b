"""After tenstorrent/tt-torch#852 (2025): a warning that is logged once."""

import functools
import logging

import torch

logger = logging.getLogger("models")


@functools.lru_cache(None)
def warning_once(message):
    logger.warning(message)


@torch.compile(backend="eager")
def attend(q, k, v, mask=None):
    if mask is None:
        warning_once("no mask was given: attending to everything")
    weights = (q @ k.transpose(-1, -2)).softmax(-1)
    return weights @ v


torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 4, 4).unbind(0)
for _ in range(2):
    print(float(attend(q, k, v).sum()))
