# SPDX-License-Identifier: Apache-2.0
"""``pellucid import LOG DIR``: what the command line does with it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pellucid.errors import NotADump, NotALog, complain

_DESCRIPTION = """\
Make captures, findings and a page of what torch has logged under TORCH_TRACE, in a process in which
pellucid was not. LOG is one log, which gzip may have compressed, or a folder of them: those of
several ranks are captures of one job. PyTorch is not needed, and nothing of the log is executed."""

_EPILOG = """\
A log that ends too early, because its process was killed, is read as far as it goes.

exit status: 0, or 1 if LOG is no log of a structured trace, or DIR cannot be written (a line on
standard error says file, line and reason), or 2 for wrong usage"""


def add_import(commands: Any, formatter: Any) -> None:
    """Add the command to those of ``pellucid``."""
    add = commands.add_parser(
        "import",
        help="a capture and its page from a TORCH_TRACE log",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("log", metavar="LOG", help="a log, or the folder that TORCH_TRACE named")
    add.add_argument("directory", metavar="DIR", help="where the capture goes")
    add.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="ROOT",
        help="a folder in which the program's files may be looked for (default: none is read)",
    )
    add.add_argument(
        "--lenient", action="store_true", help="pass over lines that belong to no record"
    )
    add.set_defaults(command=_import)


def _import(arguments: argparse.Namespace) -> int:
    from pellucid.findings import count_line, find_all

    from ..model.events import Log
    from ..store.load import load_all
    from .folder import import_log

    try:
        page = import_log(
            arguments.log,
            arguments.directory,
            sources=arguments.source,
            lenient=arguments.lenient,
        )
        captures = load_all(arguments.directory)
    except (NotALog, NotADump) as error:
        complain("import", str(error))
        return 1
    except OSError as error:
        complain(str(error.filename or arguments.directory), str(error.strerror or error).lower())
        return 1
    print(count_line(find_all(captures)))
    for log in (log for capture in captures for log in capture.of(Log)):
        for note in log.notes:
            complain(log.name, note)
    print(f"pellucid: {page}", file=sys.stderr)
    return 0
