# SPDX-License-Identifier: Apache-2.0
"""``pellucid import LOG DIR``: the subcommand."""

from __future__ import annotations

import argparse
from typing import Any

from pellucid.errors import NotADump, NotALog, complain
from pellucid.terminal import inform, is_quiet

_DESCRIPTION = """\
Turn a TORCH_TRACE log into a capture with findings and a page. The process that wrote the log did
not need pellucid. LOG is a log file, which may be gzipped, or a folder of logs; the logs of several
ranks become the captures of one job. PyTorch is not needed, and nothing in the log is executed."""

_EPILOG = """\
If a log is cut off because its process was killed, everything up to that point is read.

exit status: 0 on success, 1 if LOG is not a structured trace log or DIR cannot be written (standard
error names the file, line and reason), 2 for wrong usage"""


def add_import(commands: Any, formatter: Any) -> None:
    """Add the subcommand to ``pellucid``."""
    add = commands.add_parser(
        "import",
        help="turn a TORCH_TRACE log into a capture and its page",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("log", metavar="LOG", help="a log, or the folder that TORCH_TRACE was set to")
    add.add_argument("directory", metavar="DIR", help="write the capture to this directory")
    add.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="ROOT",
        help="a folder that contains the program's source files (default: no source is read)",
    )
    add.add_argument(
        "--lenient", action="store_true", help="skip lines that do not belong to a record"
    )
    add.set_defaults(command=_import)


def _import(arguments: argparse.Namespace) -> int:
    from pellucid.dump.model.events import Log
    from pellucid.dump.store.load import load_all
    from pellucid.findings import count_line, find_all

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
    if not is_quiet():
        print(count_line(find_all(captures)))
    for log in (log for capture in captures for log in capture.of(Log)):
        for note in log.notes:
            complain(log.name, note)
    inform(str(page))
    return 0
