# SPDX-License-Identifier: Apache-2.0
"""pellucid opens the opaque box of the PyTorch compiler.

`decompile`, `decompile_ex`, `match`, `port`, `port_pickle`, `import_log`, `open_artifact`, `load`,
`find`, `compare` and `report` do not need PyTorch. What works on `torch.compile` does
(`prepare_debug`, `debug`, `find_nan`, `find_difference`, `try_remedy`, `install`, `uninstall`).
Each name is loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any, Dict, List

from pellucid._version import __version__
from pellucid.errors import (
    CannotPort,
    CannotStandIn,
    CannotTry,
    DecompileError,
    NotADump,
    NotALog,
    NotAnArtifact,
)
from pellucid.shown import Shown as _Shown

if TYPE_CHECKING:
    from pellucid import code_transform as code_transform
    from pellucid import explain as explain
    from pellucid import optimization as optimization
    from pellucid import utils as utils
    from pellucid.comparison.change import Comparison
    from pellucid.comparison.compare import compare
    from pellucid.decompilation import decompile, decompile_ex, decompile_pyc
    from pellucid.decompiler import Decompiler
    from pellucid.dump.model import events
    from pellucid.dump.model.capture import Capture
    from pellucid.dump.model.differences import Difference
    from pellucid.dump.model.events import Break, Frame, Graph, Recompile
    from pellucid.dump.store.load import load
    from pellucid.dump.store.session import Session
    from pellucid.findings.find import find
    from pellucid.findings.finding import Finding
    from pellucid.findings.remedy import Remedy, Trial
    from pellucid.matching.judge import Match, match
    from pellucid.porting.code import Ported, port
    from pellucid.porting.pickles import PortedPickle, port_pickle
    from pellucid.report import report
    from pellucid.result import Decompilation
    from pellucid.torch import (
        NanReport,
        debug,
        dump_graph,
        find_difference,
        find_nan,
        install,
        prepare_debug,
        uninstall,
    )
    from pellucid.torch.artifacts.read import open_artifact
    from pellucid.torch.logs.folder import import_log
    from pellucid.torch.trying.trial import try_remedy
    from pellucid.verdicts import Verdict

# Loaded on first use: importing pellucid imports neither torch nor the extension.
_LAZY: Dict[str, str] = {
    "Break": "pellucid.dump.model.events",
    "Capture": "pellucid.dump.model.capture",
    "Comparison": "pellucid.comparison.change",
    "Decompilation": "pellucid.result",
    "Decompiler": "pellucid.decompiler",
    "Difference": "pellucid.dump.model.differences",
    "Finding": "pellucid.findings.finding",
    "Frame": "pellucid.dump.model.events",
    "Graph": "pellucid.dump.model.events",
    "Match": "pellucid.matching.judge",
    "NanReport": "pellucid.torch",
    "Ported": "pellucid.porting.code",
    "PortedPickle": "pellucid.porting.pickles",
    "Recompile": "pellucid.dump.model.events",
    "Remedy": "pellucid.findings.remedy",
    "Session": "pellucid.dump.store.session",
    "Trial": "pellucid.findings.remedy",
    "Verdict": "pellucid.verdicts",
    "compare": "pellucid.comparison.compare",
    "debug": "pellucid.torch",
    "decompile": "pellucid.decompilation",
    "decompile_ex": "pellucid.decompilation",
    "decompile_pyc": "pellucid.decompilation",
    "dump_graph": "pellucid.torch",
    "events": "pellucid.dump.model",
    "find": "pellucid.findings.find",
    "find_difference": "pellucid.torch",
    "find_nan": "pellucid.torch",
    "import_log": "pellucid.torch.logs.folder",
    "install": "pellucid.torch",
    "load": "pellucid.dump.store.load",
    "match": "pellucid.matching.judge",
    "open_artifact": "pellucid.torch.artifacts.read",
    "port": "pellucid.porting.code",
    "port_pickle": "pellucid.porting.pickles",
    "prepare_debug": "pellucid.torch",
    "report": "pellucid.report",
    "try_remedy": "pellucid.torch.trying.trial",
    "uninstall": "pellucid.torch",
}
# The modules that programs written for depyf access through it.
_MODULES = ("code_transform", "explain", "optimization", "utils")

__all__ = [
    "Break",
    "CannotPort",
    "CannotStandIn",
    "CannotTry",
    "Capture",
    "Comparison",
    "Decompilation",
    "DecompileError",
    "Decompiler",
    "Difference",
    "Finding",
    "Frame",
    "Graph",
    "Match",
    "NanReport",
    "NotADump",
    "NotALog",
    "NotAnArtifact",
    "Ported",
    "PortedPickle",
    "Recompile",
    "Remedy",
    "Session",
    "Trial",
    "Verdict",
    "__version__",
    "compare",
    "debug",
    "decompile",
    "decompile_ex",
    "decompile_pyc",
    "dump_graph",
    "events",
    "find",
    "find_difference",
    "find_nan",
    "import_log",
    "install",
    "load",
    "match",
    "open_artifact",
    "port",
    "port_pickle",
    "prepare_debug",
    "report",
    "try_remedy",
    "uninstall",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"pellucid.{name}")
        if name not in _LAZY:
            raise AttributeError(f"module 'pellucid' has no attribute {name!r}")
        found = importlib.import_module(_LAZY[name])
        value = getattr(found, name, None) or importlib.import_module(f"{found.__name__}.{name}")
        globals()[name] = value
        return value


def _html_of(value: Any) -> str:
    html: str = importlib.import_module("pellucid.notebook.html").html_of(value)
    return html


_Shown._html_of = _html_of


def load_ipython_extension(shell: Any) -> None:
    """Give an IPython shell the ``%%pellucid`` magic; ``%load_ext pellucid`` calls this."""
    importlib.import_module("pellucid.notebook.magic").load(shell)


def __dir__() -> List[str]:
    special = (name for name in globals() if name.startswith("__"))
    return sorted({*__all__, *_MODULES, *special})
