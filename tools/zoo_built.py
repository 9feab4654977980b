"""What tools/zoo.py and its parts build: a module with its inputs, or why there is none."""

from typing import Any, Callable, Dict, NamedTuple

import torch

Inputs = Callable[[], Dict[str, Any]]


class Missing(Exception):
    """Say why a model cannot be built here."""


class Built(NamedTuple):
    """A module with what it is called with; keyword "" stands for positional arguments."""

    what: str
    module: torch.nn.Module
    inputs: Inputs
