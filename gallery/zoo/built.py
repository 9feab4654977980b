# SPDX-License-Identifier: Apache-2.0
"""What the parts of the zoo build: a module with its inputs, or why there is none."""

from typing import Any, Callable, Dict, Iterator, NamedTuple

import torch

Inputs = Callable[[], Dict[str, Any]]


class Missing(Exception):
    """Say why a model cannot be built here."""


class Built(NamedTuple):
    """A module with what it is called with; keyword "" stands for positional arguments."""

    what: str
    module: torch.nn.Module
    inputs: Inputs


def parts_in(value: Any) -> Iterator[Any]:
    """What there is in the output of a model, in the order in which it stands there."""
    pending = [value]
    while pending:
        item = pending.pop()
        if hasattr(item, "to_tuple"):
            pending.extend(reversed(item.to_tuple()))
        elif isinstance(item, dict):
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, (list, tuple)):
            pending.extend(reversed(item))
        else:
            yield item
