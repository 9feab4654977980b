"""``prepare_debug`` and ``debug`` under the names of depyf's modules."""

from pellucid.torch import prepare_debug
from pellucid.torch.api import debug

__all__ = ["debug", "prepare_debug"]
