# SPDX-License-Identifier: Apache-2.0
"""``pellucid diff A B``: the subcommand."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pellucid.errors import NotADump, NotALog, complain
from pellucid.terminal import inform

_EPILOG = """\
What follows from a difference (later graphs, kernels, cache keys) is listed below it. Timings,
moved lines and warm compile caches do not count as differences.

A and B may also be the logs of two runs under torch.utils._debug_mode.DebugMode, written with
debug_string() and log_tensor_hashes(), for instance of an eager and a compiled run. The first
operation with different results is shown.

exit code: 0 if the captures are equal, 1 if they differ, 2 for wrong usage or if a capture cannot
be read or the page cannot be written"""


def add_diff(commands: Any, formatter: Any) -> None:
    """Add the subcommand to ``pellucid``."""
    add = commands.add_parser(
        "diff",
        help="compare two captures",
        description="Compare two captures, for instance of two runs, two releases of PyTorch or\n"
        "two ranks: frames, graph breaks, recompiles, guards, graphs (by operation, shape and\n"
        "edges, not by name), kernels, settings, versions, cache keys and findings. PyTorch is\n"
        "not needed.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("first", metavar="A", help="the directory of a capture, or a log")
    add.add_argument("second", metavar="B", help="the directory of another capture, or another log")
    add.add_argument("--json", action="store_true", help="print JSON instead of text")
    add.add_argument(
        "-o", "--out", metavar="FILE", help="also write an HTML page with both side by side"
    )
    add.set_defaults(command=_diff)


def _diff(arguments: argparse.Namespace) -> int:
    from .compare import compare
    from .debug_logs import compare_logs, is_log

    try:
        if is_log(arguments.first) and is_log(arguments.second):
            if arguments.out:
                complain("--out", "logs have no page; leave it out")
                return 2
            logs = compare_logs(arguments.first, arguments.second)
            _print(logs.as_json() if arguments.json else f"{logs}\n" if logs else "")
            return 1 if logs else 0
        found = compare(arguments.first, arguments.second)
        if arguments.out:
            from .page import page_of

            Path(arguments.out).write_text(page_of(found), encoding="utf-8", errors="replace")
    except (NotADump, NotALog) as error:
        print(f"pellucid: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        complain(str(error.filename or arguments.out), str(error.strerror or error).lower())
        return 2
    _print(found.as_json() if arguments.json else f"{found}\n" if found else "")
    if arguments.out:
        inform(arguments.out)
    return 1 if found else 0


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.flush()
