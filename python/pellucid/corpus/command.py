# SPDX-License-Identifier: Apache-2.0
"""``pellucid corpus IN… -o OUT``: what the command line does with it."""

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from pellucid import argument_types
from pellucid.command_parser import add_verify
from pellucid.errors import complain

_EPILOG = """\
OUT is a folder of Parquet files (python=3.11/part-….parquet) for pyarrow.dataset, DuckDB, pandas or
Spark; docs/corpus.md describes the columns. Rerun the same command to resume: files that already
have a row are skipped and new files are added. A file that exceeds --seconds or --memory gets a row
that says so, and the run continues.

exit code:
  0    every file was decompiled and, without --no-verify, proven
  1    a file is not a valid .pyc, could not be read, or has a function that could not be recovered
  2    wrong usage, or OUT cannot be used
  3    every file was decompiled, but not all of it was proven

examples:
  pellucid corpus wheels/ -o wheels.parquet
  pellucid corpus s3://bucket/pycs 'https://host/some.whl' -o all.parquet --jobs 16
  pellucid corpus /data -o data.parquet --engine ray --address auto"""


def add_corpus(commands: Any, formatter: Any) -> None:
    """Add the command to those of ``pellucid``."""
    add = commands.add_parser(
        "corpus",
        help="decompile many files into a Parquet table, one row per distinct file",
        description="Decompile any number of files, folders, archives and fsspec URLs into one\n"
        "Parquet table, with one row per distinct file: its source and the verdict of each\n"
        "function. Needs pyarrow, fsspec and pebble, and ray for --engine ray.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("inputs", nargs="+", metavar="IN", help="what to decompile")
    add.add_argument(
        "-o", "--out", required=True, metavar="OUT", help="write the table to this folder"
    )
    add.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="run in processes of this machine, or on a Ray cluster",
    )
    add.add_argument(
        "--address",
        default="",
        help="address of the Ray cluster (default: the one Ray finds, or a local one)",
    )
    add.add_argument(
        "--jobs",
        type=argument_types.count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of local processes (default: one per processor)",
    )
    add_verify(
        add,
        {
            "best": "prove the source (default)",
            "recompiled": "the same, by a CPython of the file's version only",
            "relowered": "the same, by pellucid's own compiler only",
        },
    )
    add.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="time limit per file (default: 60)"
    )
    add.add_argument(
        "--memory",
        type=argument_types.size,
        default=2 << 30,
        metavar="SIZE",
        help="memory limit per file (default: 2G)",
    )
    add.add_argument(
        "--retry-limited",
        action="store_true",
        help="retry files that hit a limit in an earlier run",
    )
    add.set_defaults(command=_corpus)


def _corpus(arguments: argparse.Namespace) -> int:
    wanted = ["pyarrow", "fsspec", "pebble"] + (["ray"] if arguments.engine == "ray" else [])
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"pellucid: corpus: {', '.join(missing)} not installed. "
            f"Install with: pip install {' '.join(missing)}",
            file=sys.stderr,
        )
        return 2
    from concurrent.futures import BrokenExecutor

    from pellucid.corpus.rows import Limits
    from pellucid.corpus.run import Plan, run
    from pellucid.corpus.store import NoTable

    plan = Plan(
        arguments.inputs,
        Path(arguments.out),
        "best" if arguments.verify is None else arguments.verify,
        Limits(arguments.seconds, arguments.memory),
        arguments.jobs,
        arguments.engine,
        arguments.address,
        arguments.retry_limited,
    )
    try:
        return run(plan)
    except NoTable as error:
        print(f"pellucid: {error}", file=sys.stderr)
        return 2
    except BrokenExecutor as error:
        complain(arguments.out, str(error))
        return 2
    except OSError as error:
        complain(str(error.filename or arguments.out), str(error.strerror or error).lower())
        return 2
