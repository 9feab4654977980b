# SPDX-License-Identifier: Apache-2.0
"""pellucid opens the opaque box of the PyTorch compiler.

`decompile`, `decompile_ex`, `load` and `report` do not need PyTorch. What works on `torch.compile`
does (`prepare_debug`, `debug`, `find_nan`, `find_difference`, `try_remedy`, `install`,
`uninstall`). Each name is loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any, Dict, List

from pellucid._version import __version__
from pellucid.errors import CannotStandIn, CannotTry, DecompileError, NotADump, NotALog

if TYPE_CHECKING:
    from pellucid import code_transform as code_transform
    from pellucid import explain as explain
    from pellucid import optimization as optimization
    from pellucid import utils as utils
    from pellucid.decompilation import (
        Decompilation,
        decompile,
        decompile_ex,
        decompile_pyc,
    )
    from pellucid.decompiler import Decompiler
    from pellucid.report import report
    from pellucid.torch import (
        debug,
        dump_graph,
        find_difference,
        find_nan,
        install,
        prepare_debug,
        uninstall,
    )
    from pellucid.torch.logs.folder import import_log
    from pellucid.torch.store.load import load
    from pellucid.torch.trying.trial import try_remedy
    from pellucid.verdicts import Verdict

# Loaded on first use: importing pellucid imports neither torch nor the extension.
_LAZY: Dict[str, str] = {
    "Decompilation": "pellucid.decompilation",
    "Verdict": "pellucid.verdicts",
    "decompile": "pellucid.decompilation",
    "decompile_ex": "pellucid.decompilation",
    "decompile_pyc": "pellucid.decompilation",
    "prepare_debug": "pellucid.torch",
    "debug": "pellucid.torch",
    "dump_graph": "pellucid.torch",
    "find_difference": "pellucid.torch",
    "find_nan": "pellucid.torch",
    "import_log": "pellucid.torch.logs.folder",
    "install": "pellucid.torch",
    "load": "pellucid.torch.store.load",
    "report": "pellucid.report",
    "try_remedy": "pellucid.torch.trying.trial",
    "uninstall": "pellucid.torch",
    # Modules, and the class, that programs written for depyf reach through it.
    "Decompiler": "pellucid.decompiler",
    "code_transform": "",
    "explain": "",
    "optimization": "",
    "utils": "",
}

__all__ = [
    "CannotStandIn",
    "CannotTry",
    "Decompilation",
    "DecompileError",
    "Decompiler",
    "NotADump",
    "NotALog",
    "Verdict",
    "__version__",
    "debug",
    "decompile",
    "decompile_ex",
    "decompile_pyc",
    "dump_graph",
    "find_difference",
    "find_nan",
    "import_log",
    "install",
    "load",
    "prepare_debug",
    "report",
    "try_remedy",
    "uninstall",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module 'pellucid' has no attribute {name!r}")
        if not _LAZY[name]:
            return importlib.import_module(f"pellucid.{name}")
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value


def load_ipython_extension(shell: Any) -> None:
    """Give an IPython shell the ``%%pellucid`` magic; ``%load_ext pellucid`` calls this."""
    importlib.import_module("pellucid.notebook.magic").load(shell)


def __dir__() -> List[str]:
    return sorted({*globals(), *_LAZY})
