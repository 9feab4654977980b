# SPDX-License-Identifier: Apache-2.0
"""pellucid under the name depyf, for programs written for depyf 0.20.0.

The modules below it are not copies: ``depyf.utils`` is the module object of ``pellucid.utils``.
"""

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, List, Optional

import pellucid

__version__ = "0.20.0+pellucid"
__all__ = ["Decompiler", "debug", "decompile", "install", "prepare_debug", "uninstall"]

_MODULES = ("code_transform", "decompiler", "explain", "optimization", "utils")


def _of_pellucid(name: str) -> str:
    """Return which module of pellucid has the names of one of depyf's."""
    below = name.partition(".")[2]
    # depyf has a module for each of these functions.
    below = "explain.patched" if below.startswith("explain.patched_") else below
    return f"pellucid.{below}"


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> Optional[ModuleSpec]:
        package, _, below = name.partition(".")
        if package != __name__ or below.partition(".")[0] not in _MODULES:
            return None
        found = importlib.util.find_spec(_of_pellucid(name))
        return None if found is None else ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> None:
        """Let the import system make an empty module; it is replaced at once."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(_of_pellucid(module.__name__))


# In front: the modules have pellucid's __path__, in which others would find them a second time.
sys.meta_path.insert(0, _Finder())


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("torch_version", "valid"):
        try:
            torch = importlib.import_module("torch")
        except ImportError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        if name == "torch_version":
            return torch.__version__
        # Whether this PyTorch calls hooks with the bytecode that it makes.
        frames = importlib.import_module("torch._dynamo.convert_frame")
        return hasattr(frames, "register_bytecode_hook")
    if name == "decompile":  # takes ``code`` by name
        return importlib.import_module("pellucid.decompiler").decompile
    return getattr(pellucid, name)


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__, *_MODULES, "torch_version", "valid"})
