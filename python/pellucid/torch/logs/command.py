# SPDX-License-Identifier: Apache-2.0
"""``pellucid import LOG DIR``: the subcommand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Sequence

from pellucid.errors import NotADump, NotALog, NotAnArtifact, complain
from pellucid.terminal import inform, is_quiet

if TYPE_CHECKING:
    from pellucid.dump.model.capture import Capture
    from pellucid.dump.model.events import Artifact, Log

_DESCRIPTION = """\
Turn a TORCH_TRACE log into a capture with findings and a page. The process that wrote the log did
not need pellucid. LOG is a log file, which may be gzipped, or a folder of logs; the logs of several
ranks become the captures of one job. PyTorch is not needed, and nothing in the log is executed."""

_EPILOG = """\
If a log is cut off because its process was killed, everything up to that point is read.

exit code: 0 on success, 1 if LOG is not a structured trace log or DIR cannot be written (standard
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
    from pellucid.findings import count_line, find_all

    from .folder import import_log

    def write() -> Path:
        roots, lenient = arguments.source, arguments.lenient
        return import_log(arguments.log, arguments.directory, sources=roots, lenient=lenient)

    return written("import", arguments.directory, write, Log, lambda all: count_line(find_all(all)))


def written(
    command: str,
    directory: str,
    write: Callable[[], Path],
    source: type[Log | Artifact],
    summary: Callable[[Sequence[Capture]], str],
) -> int:
    """Write captures to a directory, and print what is in them; return the exit code.

    Args:
        command: the subcommand.
        directory: where ``write`` writes them.
        write: returns the page.
        source: the events that say what a capture was read from, with notes.
        summary: returns the line to print.
    """
    from pellucid.dump.store.load import load_all

    try:
        page = write()
        captures = load_all(directory)
    except (NotALog, NotAnArtifact, NotADump) as error:
        complain(command, str(error))
        return 1
    except OSError as error:
        complain(str(error.filename or directory), str(error.strerror or error).lower())
        return 1
    if not is_quiet():
        print(summary(captures))
    for read in (event for capture in captures for event in capture.of(source)):
        for note in read.notes:
            complain(read.name, note)
    inform(str(page))
    return 0
