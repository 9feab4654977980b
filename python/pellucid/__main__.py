"""The command line: `pellucid decompile`, `dis`, `dump`, `run`, `demo`."""

import argparse
import os
import runpy
import sys
from typing import List, Optional

from pellucid import _core, batch
from pellucid._version import __version__
from pellucid.errors import DecompileError

STAGES = ["module", "raw", "stream", "flow", "ir", "ast"]


def main(argv: Optional[List[str]] = None) -> int:
    """Run one command; return the exit status (2 for wrong usage, as argparse has it)."""
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.command(arguments)
        return status
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; Python must not complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pellucid", description="Open the opaque box of the PyTorch compiler."
    )
    parser.add_argument("--version", action="version", version=f"pellucid {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    add = commands.add_parser("decompile", help="whole modules back to source")
    add.add_argument("inputs", nargs="+", metavar="FILE.pyc|DIR")
    add.add_argument("-o", "--out", help="a file, or a folder for several files")
    add.add_argument("--verify", action="store_true", help="recompile, compare, say the verdict")
    add.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    add.add_argument("--json", action="store_true", help="one JSON line a file")
    add.set_defaults(command=_decompile)

    add = commands.add_parser("dis", help="readable disassembly with its flow graph")
    add.add_argument("inputs", nargs="+", metavar="FILE.pyc")
    add.set_defaults(command=_dump, stage="flow")

    add = commands.add_parser("dump", help="what one stage of the decompiler makes")
    add.add_argument("--stage", choices=STAGES, required=True)
    add.add_argument("inputs", nargs="+", metavar="FILE.pyc")
    add.set_defaults(command=_dump)

    add = commands.add_parser("run", help="run a script and capture all that it compiles")
    add.add_argument("--out", required=True, metavar="DIR")
    add.add_argument("script")
    add.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    add.set_defaults(command=_run)

    add = commands.add_parser("demo", help="a small model end to end")
    add.add_argument("--out", metavar="DIR", default="pellucid_demo")
    add.set_defaults(command=_demo)
    return parser


def _decompile(arguments: argparse.Namespace) -> int:
    jobs = batch.jobs_of(arguments.inputs, arguments.out)
    if not jobs:
        print(f"pellucid: {' '.join(arguments.inputs)}: no .pyc files", file=sys.stderr)
        return batch.EXIT_ERROR
    return batch.run(jobs, arguments.verify, arguments.jobs, arguments.json)


def _dump(arguments: argparse.Namespace) -> int:
    status = 0
    for path in arguments.inputs:
        try:
            with open(path, "rb") as file:
                text = _core.dump_pyc(file.read(), arguments.stage)
            sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
        except OSError as error:
            print(f"pellucid: {path}: {(error.strerror or '').lower()}", file=sys.stderr)
            status = 1
        except DecompileError as error:
            print(f"pellucid: {path}: {error}", file=sys.stderr)
            status = 1
    return status


def _needs_torch() -> Optional[str]:
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        return "pellucid: PyTorch is not installed; try: pip install 'pellucid[torch]'"
    return None


def _run(arguments: argparse.Namespace) -> int:
    missing = _needs_torch()
    if missing:
        print(missing, file=sys.stderr)
        return 1
    import pellucid

    sys.argv = [arguments.script, *arguments.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(arguments.script))
    with pellucid.prepare_debug(arguments.out):
        runpy.run_path(arguments.script, run_name="__main__")
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    missing = _needs_torch()
    if missing:
        print(missing, file=sys.stderr)
        return 1
    from pellucid.torch import demo

    status: int = demo.main(arguments.out)
    return status


if __name__ == "__main__":
    sys.exit(main())
