# SPDX-License-Identifier: Apache-2.0
"""The command line: `pellucid decompile`, `inspect`, `dis`, `dump`, `run`, `explain` and so on.

What a command needs is imported when it runs: `pellucid --version` and the help load none of it.
"""

import argparse
import os
import re
import sys
from typing import List, Optional, Tuple

from pellucid import argument_types, terminal
from pellucid._version import __version__
from pellucid.command_parser import Help, Overview, Parser, add_verify
from pellucid.comparison.command import add_diff
from pellucid.corpus.command import add_corpus
from pellucid.errors import CannotPrint
from pellucid.matching.command import add_match
from pellucid.report.command import add_report
from pellucid.shell.command import add_shell
from pellucid.torch.artifacts.command import add_open
from pellucid.torch.commands import add_explain, add_find_difference, add_find_nan, explain
from pellucid.torch.logs.command import add_import

STAGES = {
    "module": "code objects, as read from the file",
    "raw": "instructions of the file's own Python version",
    "stream": "the same instructions in the vocabulary shared by all versions",
    "flow": "basic blocks, the edges between them and their exception handlers",
    "ir": "values and ordered effects instead of a stack",
    "structure": "each attempt to recover control flow, and what each step changed;\n"
    "            structure:STEP shows the graph after one step",
    "ast": "the syntax tree that is printed",
}


def main(argv: Optional[List[str]] = None) -> int:
    """Run one command; return the exit code, which is 2 for wrong usage."""
    given = sys.argv[1:] if argv is None else argv
    command = next((a for a in given if not a.startswith("-")), "")
    program: List[str] = []
    if command == "explain" and "--" in given:  # what follows is a program with its arguments
        at = given.index("--")
        given, program = given[:at], given[at + 1 :]
    parser = make_parser()
    if not given:
        parser.print_help(sys.stderr)
        return 2
    arguments, unknown = parser.parse_known_args(given)
    if unknown:
        arguments.parser.unknown(unknown)
    if "command" not in arguments:
        parser.error("the following arguments are required: COMMAND")
    terminal.choose_colours(arguments.color)
    if arguments.quiet:
        terminal.be_quiet()
    arguments.program = program
    # Asked for here, since with a pager standard output is a pipe.
    arguments.colours, arguments.columns = terminal.shows_colours(), terminal.columns()
    status: int = 0
    try:
        with terminal.paged(arguments.pager and _prints_text(arguments)):
            status = arguments.command(arguments)
    except CannotPrint:
        print("pellucid: standard output: cannot be written", file=sys.stderr)
        _print_no_more()
        return 1
    except BrokenPipeError:
        # The reader (`| head`) has seen enough.
        _print_no_more()
        return 1
    except KeyboardInterrupt:
        _print_no_more()
        terminal.leave(130)
        return 130
    return status


def _prints_text(arguments: argparse.Namespace) -> bool:
    """Whether a command prints more than a screen, for a person to read."""
    to_file = getattr(arguments, "out", None) or getattr(arguments, "json", False)
    return arguments.command in _LONG and not to_file


def _print_no_more() -> None:
    # What is left in the buffer would be complained of again at exit.
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser: argparse.ArgumentParser = Parser(
        prog="pellucid",
        description="See what torch.compile runs, and turn CPython bytecode back into source.\n"
        "Each command has its own --help.",
        formatter_class=Overview,
    )
    parser.add_argument(
        "-V",
        "--version",
        action="version",
        version=f"pellucid {__version__}",
        help="print the version and exit",
    )
    parser.set_defaults(parser=parser, color="auto", pager=True, quiet=False)
    _add_common(parser)
    commands = parser.add_subparsers(metavar="COMMAND")
    _add_decompile(commands)
    _add_stages(commands)
    _add_inspect(commands)
    _add_torch(commands)
    add_report(commands, Help)
    add_corpus(commands, Help)
    add_match(commands, Help)
    add_shell(commands, Help)
    for each in commands.choices.values():
        each.set_defaults(parser=each)
        _add_common(each)
    add = commands.add_parser("help", help="show the help of a command")
    add.add_argument("name", nargs="?", choices=list(commands.choices), metavar="COMMAND")

    def show(arguments: argparse.Namespace) -> int:
        commands.choices.get(arguments.name, parser).print_help()
        return 0

    add.set_defaults(command=show)
    return parser


def _add_common(add: argparse.ArgumentParser) -> None:
    """Add the options that may come before or after the command."""
    add.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=argparse.SUPPRESS,
        help="use colors (default: auto, if the output is a terminal and NO_COLOR is not set)",
    )
    add.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print results, warnings and errors, but no progress and no summary",
    )
    add.add_argument(
        "--no-pager",
        dest="pager",
        action="store_false",
        default=argparse.SUPPRESS,
        help="do not page long output on a terminal",
    )


_INPUTS = """\
INPUT can be a .pyc file, a folder (everything below it), an archive (zip, wheel, egg, tar, gzip,
bz2, xz, an image with its layers), a PyInstaller program or its PYZ, a pickle or model file
(joblib, torch.save, numpy, Keras), or - for standard input. pellucid recognizes it by its bytes:
the header may be wrong or missing, and a zip may be appended to a program. It reads CPython 3.8 to
3.15, whichever Python it runs on. Nothing in the input is ever executed."""

_DECOMPILE = """\
Turn compiled Python back into source, and prove that the source means the same. A comment marks
each function that is not proven, and a line on standard error names each file that has one.

Without -o, the source goes to standard output. With -o OUT, a single file is written to OUT;
several files, a folder or an archive are mirrored in the folder OUT:
pkg/__pycache__/mod.cpython-311.pyc becomes OUT/pkg/mod.py, and a second mod.py of the same run
mod~2.py. Files are written atomically. A file that exists with different contents is not
overwritten without --force."""

_DECOMPILE_EPILOG = """\
exit code:
  0    every file was decompiled and, without --no-verify, proven
  1    a file is not a valid .pyc, could not be read or written, or has a function that could not
       be recovered; standard error names the file, the reason and the byte offset
  2    wrong usage
  3    every file was decompiled, but not all of it was proven

verdicts:
  identical    the source recompiles to the same code, apart from metadata
  equivalent   it recompiles to code with the same effects in the same order on every path
  unproven     neither could be shown; the message says where the proof stops
  The source is compiled by a CPython of the file's own version. pellucid searches for one on PATH
  and where version managers install theirs; PELLUCID_PYTHON_3_9=/path/to/python3.9 names one. If
  there is none, pellucid compiles the syntax tree of the source itself. Some files that are proven
  otherwise are unproven with --verify=strict.

examples:
  pellucid decompile module.pyc
  pellucid decompile package/ -o source/
  pellucid decompile some.whl -o source/ --jobs 4 --json > results.jsonl
  pellucid decompile module.pyc --keep-lines -o module.py"""


def _add_decompile(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = commands.add_parser(
        "decompile",
        help="turn compiled Python back into source",
        description=f"{_DECOMPILE}\n\n{_INPUTS}",
        epilog=_DECOMPILE_EPILOG,
        formatter_class=Help,
    )
    add.add_argument("inputs", nargs="+", metavar="INPUT", help="what to decompile")
    add.add_argument(
        "-o", "--out", help="write to this file, or to this folder if there are several"
    )
    add.add_argument(
        "--force", action="store_true", help="overwrite files that exist with different contents"
    )
    add_verify(
        add,
        {
            "best": "prove the source (default), and print the verdict of proven files too",
            "recompiled": "the same, by a CPython of the file's version only",
            "relowered": "the same, by pellucid's own compiler only",
            "strict": "the same, and prove that loops handle an interruption as the code does",
        },
    )
    add.add_argument(
        "--keep-lines",
        action="store_true",
        help="keep statements on their original lines, so that tracebacks and coverage match",
    )
    add.add_argument(
        "--line-length",
        type=argument_types.columns,
        default=100,
        metavar="N",
        help="break longer lines where possible; N is in columns (default: 100)",
    )
    add.add_argument(
        "--say-lost",
        action="store_true",
        help="add comments on what the source had and the text cannot have: annotations of locals, "
        "folded expressions, constants as statements (Python 3.11 and later)",
    )
    add.add_argument(
        "--unstructured",
        action="store_true",
        help="do not recover control flow: write every body as a loop over a state",
    )
    add.add_argument(
        "--follow",
        action="store_true",
        help="also decompile code hidden in constants, through zlib, bz2, lzma, base64 and more",
    )
    add.add_argument(
        "--certificate",
        metavar="FILE",
        help="also write a certificate of the verdict to FILE, for a checker that shares no code "
        "with pellucid (see docs/verdicts.md); takes a single input of Python 3.12 or later",
    )
    _add_version(add)
    add.add_argument(
        "--jobs",
        type=argument_types.count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="files to process at a time (default: one per processor)",
    )
    add.add_argument(
        "--json",
        action="store_true",
        help="print one line of JSON per file instead of text",
    )
    add.set_defaults(command=_decompile)


def _add_stages(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = commands.add_parser(
        "dis",
        help="disassemble, and show the control-flow graph",
        description="Print the instructions of every code object by basic block, with the edges\n"
        f"between blocks and their exception handlers.\n\n{_INPUTS}",
        epilog="exit code: 0 on success, 1 if an input is not a valid .pyc, 2 for wrong usage",
        formatter_class=Help,
    )
    add.add_argument("inputs", nargs="+", metavar="INPUT", help="what to read")
    _add_version(add)
    add.set_defaults(command=_dump, stage="dis")

    add = commands.add_parser(
        "dump",
        help="print the output of one stage of the decompiler",
        description=f"Print the output of one stage of the decompiler.\n\n{_INPUTS}",
        epilog="stages:\n"
        + "\n".join(f"  {name:9} {text}" for name, text in STAGES.items())
        + "\n\nexit code: 0 on success, 1 if an input is not a valid .pyc, 2 for wrong usage",
        formatter_class=Help,
    )
    add.add_argument(
        "--stage", type=_stage, required=True, metavar="STAGE", help="one of the stages below"
    )
    add.add_argument("inputs", nargs="+", metavar="INPUT", help="what to read")
    _add_version(add)
    add.set_defaults(command=_dump)


_INSPECT = """\
Show what a file contains that its source does not show: its header and any bytes after the code,
every code object with its size and verdict, constants, names and code objects that no instruction
loads, data hidden in unused operands, duplicate and unusual names, and code in constants. Of a
pickle, list first what loading it would import and call, in order: ! marks what runs code or
reaches what can, and ? what depends on other modules. Nothing is loaded."""


def _add_inspect(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = commands.add_parser(
        "inspect",
        help="show what the source does not show, and what loading calls",
        description=f"{_INSPECT}\n\n{_INPUTS}",
        epilog="exit code: 0 on success, 1 if an input was not code, 2 for wrong usage",
        formatter_class=Help,
    )
    add.add_argument("inputs", nargs="+", metavar="INPUT", help="what to read")
    _add_version(add)
    add.add_argument("--json", action="store_true", help="print one line of JSON per file")
    add.set_defaults(command=_inspect)


def _add_version(add: argparse.ArgumentParser) -> None:
    add.add_argument(
        "--carve",
        action="store_true",
        help="read every code object at any place of each file, such as in a memory dump, a "
        "program or a cache, instead of files and archives",
    )
    add.add_argument(
        "--python-version",
        type=_version,
        metavar="3.N",
        help="Python version of the files (default: the header's, or the one that fits)",
    )


_RUN_USAGE = """\
pellucid run [--out DIR] [--calls] [--progress]
                    (SCRIPT | -m MODULE) [argument ...]"""


def _add_torch(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = commands.add_parser(
        "run",
        help="run a script and capture everything it compiles",
        usage=_RUN_USAGE,
        description="Run an unmodified script, or a module with -m, and capture everything that\n"
        "torch.compile compiles. Exit code and tracebacks are the script's own.",
        epilog="Pass pellucid's options before the script.",
        formatter_class=Help,
    )
    add.add_argument(
        "--out",
        metavar="DIR",
        help="write the capture to this directory (default: pellucid_dump, then pellucid_dump_2)",
    )
    add.add_argument(
        "--calls", action="store_true", help="also count the calls of each compiled version"
    )
    add.add_argument(
        "--progress", action="store_true", help="show what is being compiled, on standard error"
    )
    add.add_argument("-m", dest="module", action="store_true", help="run a module, like python -m")
    add.add_argument("script", metavar="SCRIPT", help="the script, or the module after -m")
    add.add_argument("arguments", nargs=argparse.REMAINDER, metavar="argument", help="passed on")
    add.set_defaults(command=_run)

    add_explain(commands, Help)
    add_import(commands, Help)
    add_open(commands, Help)
    add_find_difference(commands, Help)
    add_find_nan(commands, Help)
    add_diff(commands, Help)

    add = commands.add_parser(
        "demo",
        help="capture a small example model",
        description="Capture a small example model, and write the page of the capture.",
        formatter_class=Help,
    )
    add.add_argument(
        "--out",
        metavar="DIR",
        default="pellucid_demo",
        help="write the capture to this directory (default: pellucid_demo)",
    )
    add.set_defaults(command=_demo)


def _version(text: str) -> Tuple[int, int]:
    match = re.fullmatch(r"3\.(\d+)", text)
    if match is None or not 8 <= int(match[1]) <= 15:
        raise argparse.ArgumentTypeError("expected a version from 3.8 to 3.15")
    return 3, int(match[1])


def _stage(name: str) -> str:
    from pellucid import _core

    stages = _core.stages()
    if name not in stages:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(stages)}")
    return name


def _decompile(arguments: argparse.Namespace) -> int:
    from pellucid import commands

    return commands.decompile(arguments)


def _dump(arguments: argparse.Namespace) -> int:
    from pellucid import commands

    return commands.dump(arguments)


def _inspect(arguments: argparse.Namespace) -> int:
    from pellucid import commands

    return commands.inspect(arguments)


def _needs_torch() -> Optional[str]:
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        return "pellucid: PyTorch is not installed. Install it with: pip install torch"
    return None


def _run(arguments: argparse.Namespace) -> int:
    out = arguments.out
    if out == "":
        print("pellucid: run: --out is empty. Pass a directory.", file=sys.stderr)
        return 2
    if not arguments.module and not os.path.exists(arguments.script):
        print(f"pellucid: {arguments.script}: no such file or directory", file=sys.stderr)
        return 2
    if arguments.calls:
        os.environ["PELLUCID_CALLS"] = "1"  # which processes that the script starts have, too
    if arguments.progress:
        os.environ["PELLUCID_PROGRESS"] = "1"
    missing = _needs_torch()
    if missing:
        print(missing, file=sys.stderr)
        return 1
    from pellucid.dump.store.directories import free
    from pellucid.torch.api import run_script

    out = out or str(free("pellucid_dump"))
    try:
        os.makedirs(out, exist_ok=True)
    except OSError as error:
        why = f"cannot be created: {(error.strerror or str(error)).lower()}"
        print(f"pellucid: run: --out {out} {why}. Pass a different directory.", file=sys.stderr)
        return 2
    status: int = run_script.run(arguments.script, arguments.arguments, out, arguments.module)
    return status


def _demo(arguments: argparse.Namespace) -> int:
    missing = _needs_torch()
    if missing:
        print(missing, file=sys.stderr)
        return 1
    from pellucid.torch.api import demo

    status: int = demo.main(arguments.out)
    return status


_LONG = (_decompile, _dump, _inspect, explain)
"""The commands that print more than a screen."""


if __name__ == "__main__":
    sys.exit(main())
