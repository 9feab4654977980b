# SPDX-License-Identifier: Apache-2.0
"""The states of random number generators: PyTorch's, Python's and NumPy's."""

from __future__ import annotations

import random
import sys
from typing import Any, Mapping

import torch

GENERATORS = ("torch's generator", "CUDA's generators")
"""The generators that operations use."""
OF_PYTHON = ("Python's random", "NumPy's random")
"""The generators that the program uses directly."""


def random_state() -> dict[str, Any]:
    """Return the state of each generator, by name."""
    found: dict[str, Any] = {GENERATORS[0]: torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        for at, state in enumerate(torch.cuda.get_rng_state_all()):
            found[f"{GENERATORS[1]} [{at}]"] = state
    found[OF_PYTHON[0]] = random.getstate()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        found[OF_PYTHON[1]] = (kind, tuple(keys.tolist()), *rest)
    return found


def set_random_state(states: Mapping[str, Any]) -> None:
    """Restore the generators."""
    for name, state in states.items():
        if name == GENERATORS[0]:
            torch.set_rng_state(state)
        elif name.startswith(GENERATORS[1]):
            torch.cuda.set_rng_state(state, int(name.rpartition("[")[2].rstrip("]")))
        elif name == OF_PYTHON[0]:
            random.setstate(state)
        else:
            sys.modules["numpy"].random.set_state(state)
