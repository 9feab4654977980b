# SPDX-License-Identifier: Apache-2.0
"""``pellucid open ARTIFACT DIR``: the subcommand."""

from __future__ import annotations

import argparse
from typing import Any

from ..logs.command import written

_DESCRIPTION = """\
Turn compiled code that PyTorch saved into a capture with a page: the functions as proven source,
their guards as runnable Python, the graphs and the text of the kernels. ARTIFACT is a function that
save_compiled_function wrote, a cache folder (caching_precompile) or an entry of one, what
save_cache_artifacts returned, a .pt2, or what torch.compiler.precompile wrote. Neither PyTorch nor
the Python that wrote it is needed. Nothing is unpickled, imported or executed."""

_EPILOG = """\
exit code: 0 on success, 1 if PyTorch saves no compiled code like ARTIFACT or DIR cannot be
written (standard error gives the reason), 2 for wrong usage"""


def add_open(commands: Any, formatter: Any) -> None:
    """Add the subcommand to ``pellucid``."""
    add = commands.add_parser(
        "open",
        help="turn compiled code that PyTorch saved into a capture and its page",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("artifact", metavar="ARTIFACT", help="the file, or a folder of torch's cache")
    add.add_argument("directory", metavar="DIR", help="write the capture to this directory")
    add.set_defaults(command=_open)


def _open(arguments: argparse.Namespace) -> int:
    from pellucid.dump.model.events import Artifact

    from .read import open_artifact, summary

    artifact, directory = arguments.artifact, arguments.directory
    return written(
        *("open", directory, lambda: open_artifact(artifact, directory), Artifact),
        lambda captures: summary(captures[0]),
    )
