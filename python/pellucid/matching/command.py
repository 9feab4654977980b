# SPDX-License-Identifier: Apache-2.0
"""``pellucid match`` on the command line."""

import argparse
import os
from typing import Any

from pellucid import argument_types

_EPILOG = """\
The source of a .pyc is the .py file that Python would compile into it, in the same folder or
archive. The running Python parses the source, so the source cannot use newer syntax.

exit code:
  0    every .pyc comes from its source
  1    a .pyc does something different from its source, or cannot be read
  2    wrong usage
  3    nothing differs, but a .pyc has no source, or it is not proven to come from it

examples:
  pellucid match site-packages/
  pellucid match package-1.0-py3-none-any.whl --sarif match.sarif
  pellucid match mod.cpython-312.pyc --source mod.py"""


def add_match(commands: Any, formatter: Any) -> None:
    """Add the ``match`` subcommand to ``pellucid``."""
    add = commands.add_parser(
        "match",
        help="check whether .pyc files come from their sources",
        description="Check whether each .pyc of CPython 3.8 to 3.15 comes from its source. No\n"
        "interpreter of its version is needed, and nothing is executed.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("inputs", nargs="+", metavar="PATH", help=".pyc files, folders, archives")
    add.add_argument("--source", metavar="FILE", help="the source of the given .pyc files")
    add.add_argument("--json", action="store_true", help="print one line of JSON per .pyc")
    add.add_argument(
        "--sarif", metavar="FILE", help="write a SARIF 2.1.0 log of what does not match"
    )
    add.add_argument(
        "--jobs",
        type=argument_types.count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of processes (default: one per processor)",
    )
    add.set_defaults(command=_match)


def _match(arguments: argparse.Namespace) -> int:
    from pellucid.matching.run import run

    return run(arguments)
