# SPDX-License-Identifier: Apache-2.0
"""``pellucid report DIR…``: what the command line does with it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pellucid.errors import NotADump

_EPILOG = """\
The page is one self-contained file that you can mail or attach to an issue. findings.json, written
next to it, contains the findings for programs. PyTorch is not needed.

exit code: 0 on success, 1 if there is no capture or the page cannot be written, 2 for wrong
usage"""


def add_report(commands: Any, formatter: Any) -> None:
    """Add the command to those of ``pellucid``."""
    add = commands.add_parser(
        "report",
        help="write the page of a capture: one self-contained HTML file",
        description="Write one self-contained HTML page for one or more captures. It includes the\n"
        "captures of ranks and other processes below each directory.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("directories", nargs="+", metavar="DIR", help="the directory of a capture")
    add.add_argument(
        "-o", "--out", metavar="FILE", help="write the page to this file (default: DIR/page.html)"
    )
    add.add_argument("--open", action="store_true", help="open the page in the browser")
    add.add_argument(
        "--max-size",
        type=_size,
        default=25_000_000,
        metavar="SIZE",
        help="leave out stages, then kernels, of a larger page (default: 25M)",
    )
    add.add_argument(
        "--redact",
        action="store_true",
        help="leave out your source code and the directories of paths",
    )
    add.add_argument(
        "--editor", action="store_true", help="add links that open VS Code; they contain full paths"
    )
    add.add_argument(
        "--dot",
        metavar="STAGE",
        help="also write the graphs of a stage (captured, joint, …) for Graphviz",
    )
    add.add_argument(
        "--trace",
        metavar="FILE",
        help="also write a trace of the compiles, for ui.perfetto.dev",
    )
    add.set_defaults(command=_report)


def _size(text: str) -> int:
    units = {"k": 10**3, "m": 10**6, "g": 10**9}
    unit = units.get(text[-1:].lower(), 1)
    try:
        return int(float(text[:-1] if unit > 1 else text) * unit)
    except ValueError:
        raise argparse.ArgumentTypeError(
            "expected a number of bytes, such as 5000000 or 5M"
        ) from None


def _report(arguments: argparse.Namespace) -> int:
    from . import report, write_dot, write_trace

    try:
        path = report(
            *arguments.directories,
            out=arguments.out,
            max_size=arguments.max_size,
            redact=arguments.redact,
            editor=arguments.editor,
        )
        if arguments.dot:
            for file in write_dot(arguments.directories, arguments.dot, Path(path).parent):
                print(file)
        if arguments.trace:
            print(write_trace(arguments.directories, Path(arguments.trace), arguments.redact))
    except NotADump as error:
        print(f"pellucid: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"pellucid: {error.filename}: {(error.strerror or '').lower()}", file=sys.stderr)
        return 1
    print(path)
    if arguments.open:
        import webbrowser

        webbrowser.open(Path(path).resolve().as_uri())
    return 0
