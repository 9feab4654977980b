# SPDX-License-Identifier: Apache-2.0
"""What is run of a class that has no `forward` of its own.

Where it encodes, that is what it is for. A model that only joins others, each of which is called by
itself, is run as these, one after the other.
"""

from typing import Any, Dict, List, Optional

import torch

from .built import Built
from .fitted import callable_at_all, fitting

_SECONDS = 4.0  # of this process's time, to find what one part takes


class Parts(torch.nn.Module):
    """The parts of a model, by name."""

    def __init__(self, parts: Dict[str, torch.nn.Module]) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleDict(parts)

    def forward(self, **inputs: Dict[str, Any]) -> List[Any]:
        """Call each part with what is there for it."""
        return [part(**inputs[name]) for name, part in self.parts.items()]


def encoding(cls: Any) -> Optional[type]:
    """A class whose `forward` is what the class has to encode, if it has that."""
    encode = vars(cls).get("encode")
    return type(cls.__name__, (cls,), {"forward": encode}) if callable(encode) else None


def parts_of(module: Any, what: str) -> Optional[Built]:
    """The models inside a module that run by themselves, if there are any."""
    parts: Dict[str, torch.nn.Module] = {}
    inputs: Dict[str, Any] = {}
    for name, part in module.named_children():
        if hasattr(part, "config") and callable_at_all(type(part)):
            made, _ = fitting(part, part.config, _SECONDS)
            if made is not None:
                parts[name], inputs[name] = part, made
    if not parts:
        return None
    return Built(
        f"{', '.join(parts)} of {what}",
        Parts(parts),
        lambda: {name: made() for name, made in inputs.items()},
    )
