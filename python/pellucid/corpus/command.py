# SPDX-License-Identifier: Apache-2.0
"""``pellucid corpus IN… -o OUT``: what the command line does with it."""

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from pellucid import argument_types
from pellucid.errors import complain

_EPILOG = """\
OUT is a folder of Parquet files, python=3.11/part-….parquet; read it with pyarrow.dataset, DuckDB,
pandas, Spark. Columns: docs/corpus.md. The same command resumes a run that was killed:
what has a row is not done twice, and files that came since are added.

A file that takes more than --seconds or --memory gets a row that says so, and nothing else suffers.

exit status:
  0    every file was decompiled and, without --no-verify, proven
  1    a file was no valid .pyc or could not be read, or a function in it was not recovered
  2    wrong usage, or OUT cannot be used
  3    everything was decompiled, but not everything was proven

examples:
  pellucid corpus wheels/ -o wheels.parquet
  pellucid corpus s3://bucket/pycs 'https://host/some.whl' -o all.parquet --jobs 16
  pellucid corpus /data -o data.parquet --engine ray --address auto"""


def add_corpus(commands: Any, formatter: Any) -> None:
    """Add the command to those of ``pellucid``."""
    add = commands.add_parser(
        "corpus",
        help="a table with a row for each distinct file, of any number of files",
        description="Decompile any number of files, folders and archives, here or at addresses\n"
        "that fsspec opens, into one table: a row for each distinct code file, with its source\n"
        "and the verdict of each function. Needs pip install 'pellucid[corpus]', and\n"
        "'pellucid[ray]' for --engine ray.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("inputs", nargs="+", metavar="IN", help="what to decompile")
    add.add_argument("-o", "--out", required=True, metavar="OUT", help="the folder of the table")
    add.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="processes of this machine, or a cluster of Ray",
    )
    add.add_argument(
        "--address",
        default="",
        help="address of the cluster (default: the one that Ray finds, else one on this machine)",
    )
    add.add_argument(
        "--jobs",
        type=argument_types.count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes of this machine (default: one per processor)",
    )
    add.add_argument(
        "--verify",
        dest="tier",
        action="store_const",
        const="best",
        default="best",
        help="prove (the default); --verify=TIER asks for recompiled or relowered",
    )
    # What `--verify=TIER` becomes: see `decompile`.
    add.add_argument(
        "--verify-by", dest="tier", choices=("recompiled", "relowered"), help=argparse.SUPPRESS
    )
    add.add_argument(
        "--no-verify", dest="tier", action="store_const", const="", help="prove nothing"
    )
    add.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="seconds that a file may take (60)"
    )
    add.add_argument(
        "--memory",
        type=argument_types.size,
        default=2 << 30,
        metavar="SIZE",
        help="memory that a file may take (2G)",
    )
    add.add_argument(
        "--retry-limited",
        action="store_true",
        help="try again the files whose row says that a limit stopped them",
    )
    add.set_defaults(command=_corpus)


def _corpus(arguments: argparse.Namespace) -> int:
    wanted = ["pyarrow", "fsspec", "pebble"] + (["ray"] if arguments.engine == "ray" else [])
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        extra = "ray" if arguments.engine == "ray" else "corpus"
        print(
            f"pellucid: corpus: {', '.join(missing)} not installed; "
            f"try: pip install 'pellucid[{extra}]'",
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
        arguments.tier,
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
