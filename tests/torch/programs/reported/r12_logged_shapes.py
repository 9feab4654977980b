"""After PriorLabs/TabPFN#1166 (2026): breaks by logging and by a warning in a helper."""

import logging
import warnings

import torch

log = logging.getLogger(__name__)


def checked(x):
    log.debug("shape %s", tuple(x.shape))
    if x.shape[0] > 3:
        warnings.warn("many rows", stacklevel=2)
    return x


@torch.compile(backend="eager")
def predict(x):
    return checked(x * 2) + 1


predict(torch.ones(4, 2))
