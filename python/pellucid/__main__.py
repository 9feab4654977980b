# SPDX-License-Identifier: Apache-2.0
"""The command line: `pellucid decompile`, `inspect`, `dis`, `dump`, `run`, `explain` and so on.

What a command needs is imported when it runs: `pellucid --version` and the help load none of it.
"""

import argparse
import os
import re
import sys
from typing import List, NoReturn, Optional, Tuple

from pellucid import argument_types, terminal
from pellucid._version import __version__
from pellucid.comparison.command import add_diff
from pellucid.corpus.command import add_corpus
from pellucid.errors import CannotPrint, NotADump
from pellucid.report.command import add_report
from pellucid.shell.command import add_shell
from pellucid.torch.commands import add_find_difference
from pellucid.torch.logs.command import add_import

STAGES = {
    "module": "the code objects as they were read",
    "raw": "the instructions of the file's own version",
    "stream": "the same in the one vocabulary for all versions",
    "flow": "blocks, the ways between them and the handlers around them",
    "ir": "values and ordered effects instead of a stack",
    "structure": "the attempts to find structure, and what each of their steps changed;\n"
    "            structure:STEP shows the graph after a step",
    "ast": "the syntax tree that is printed",
}


def main(argv: Optional[List[str]] = None) -> int:
    """Run one command; return the exit status (2 for wrong usage, as argparse has it)."""
    given = sys.argv[1:] if argv is None else argv
    if next((a for a in given if not a.startswith("-")), "") != "run":  # a script has its own
        given = [re.sub("^--verify=", "--verify-by=", argument) for argument in given]
    arguments = make_parser().parse_args(given)
    arguments.colours = terminal.shows_colours()
    try:
        with terminal.paged(arguments.pager and arguments.command in _LONG):
            status: int = arguments.command(arguments)
            return status
    except CannotPrint:
        print("pellucid: standard output: cannot be written", file=sys.stderr)
        _print_no_more()
        return 1
    except BrokenPipeError:
        # The reader (`| head`) has seen enough.
        _print_no_more()
        return 1
    except KeyboardInterrupt:
        return 130


def _print_no_more() -> None:
    # What is left in the buffer would be complained of again at exit.
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="pellucid",
        description="Open the opaque box of the PyTorch compiler. Each command has its own --help.",
    )
    parser.add_argument("--version", action="version", version=f"pellucid {__version__}")
    parser.add_argument(
        "--no-pager",
        dest="pager",
        action="store_false",
        help="print long output to the terminal at once (a pager is never used elsewhere)",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_decompile(commands)
    _add_stages(commands)
    _add_inspect(commands)
    _add_torch(commands)
    add_report(commands, _Help)
    add_corpus(commands, _Help)
    add_shell(commands, _Help)
    return parser


class _Help(argparse.RawDescriptionHelpFormatter):
    """Paragraphs stay as they are written, and options have room."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=96)


_INPUTS = """\
Each INPUT is a .pyc file, a folder (all code below it), a wheel, an egg or another zip archive, a
program that PyInstaller made or its PYZ, or - for standard input. Its bytes tell what it is: a
header may be wrong or missing, a zip may stand after a program. CPython 3.8 to 3.15, whatever
Python runs pellucid. Nothing that is read is ever executed."""

_DECOMPILE = """\
Turn whole modules back into source, and prove that it means the same. A comment marks what is not
proven, and a line on standard error each file that has such code.

Without -o the source goes to standard output. With -o OUT, one file is written to OUT; several
files, a folder or an archive are mirrored in the folder OUT, where
pkg/__pycache__/mod.cpython-311.pyc becomes OUT/pkg/mod.py. Files appear whole or not at all, and
no two inputs share a place: a second mod.py is written as mod~2.py."""

_DECOMPILE_EPILOG = """\
exit status:
  0    every file was decompiled and, without --no-verify, proven
  1    a file was no valid .pyc or could not be read or written, or a function in it was not
       recovered; each has a line on standard error with the file, the reason and the byte offset
  2    wrong usage
  3    everything was decompiled, but not everything was proven

verdicts:
  identical    the source recompiles to the same code but for metadata
  equivalent   it recompiles to code with the same effects in the same order on every path
  unproven     neither was shown; the line says where the proof stops
  The compiler asked is a CPython of the file's own version. It is looked for on PATH and where
  version managers keep theirs; PELLUCID_PYTHON_3_9=/path/to/python3.9 names one. Where there is
  none, pellucid compiles the syntax tree of the source itself. --verify=recompiled insists on the
  first, --verify=relowered on the second.

examples:
  pellucid decompile module.pyc
  pellucid decompile package/ -o source/
  pellucid decompile some.whl -o source/ --jobs 4 --json > results.jsonl
  pellucid decompile module.pyc --keep-lines -o module.py"""


def _add_decompile(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = commands.add_parser(
        "decompile",
        help="whole modules back to source",
        description=f"{_DECOMPILE}\n\n{_INPUTS}",
        epilog=_DECOMPILE_EPILOG,
        formatter_class=_Help,
    )
    add.add_argument("inputs", nargs="+", metavar="INPUT", help="what to decompile")
    add.add_argument("-o", "--out", help="a file, or a folder for more than one file")
    add.add_argument(
        "--no-verify",
        dest="verify",
        action="store_const",
        const="",
        help="prove nothing: faster by a third or more",
    )
    add.add_argument(
        "--verify",
        action="store_const",
        const="best",
        help="prove (the default), and say the verdict also of files that are proven; "
        "--verify=TIER asks for one way of proving",
    )
    # What `--verify=TIER` becomes: argparse has no option whose value may only follow a `=`.
    add.add_argument(
        "--verify-by", dest="verify", choices=("recompiled", "relowered"), help=argparse.SUPPRESS
    )
    add.add_argument(
        "--keep-lines",
        action="store_true",
        help="put statements on their original lines, so that tracebacks and coverage fit",
    )
    add.add_argument(
        "--unstructured",
        action="store_true",
        help="recover no control flow: write every body as a loop over a state",
    )
    add.add_argument(
        "--follow",
        action="store_true",
        help="take marshalled code out of constants too, through zlib, bz2, lzma and base64",
    )
    _add_version(add)
    add.add_argument(
        "--jobs",
        type=argument_types.count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="files at a time (default: one per processor)",
    )
    add.add_argument(
        "--json",
        action="store_true",
        help="print a line of JSON for each file on standard output, instead of text and table",
    )
    add.set_defaults(command=_decompile)


def _add_stages(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = commands.add_parser(
        "dis",
        help="readable disassembly with its flow graph",
        description="Print the instructions of every code object, block by block, with the ways\n"
        f"between the blocks and the handlers around them.\n\n{_INPUTS}",
        epilog="exit status: 0, or 1 if an input was no valid .pyc, or 2 for wrong usage",
        formatter_class=_Help,
    )
    add.add_argument("inputs", nargs="+", metavar="INPUT")
    _add_version(add)
    add.set_defaults(command=_dump, stage="dis")

    add = commands.add_parser(
        "dump",
        help="what one stage of the decompiler makes",
        description=f"Print what one stage of the decompiler makes.\n\n{_INPUTS}",
        epilog="stages:\n"
        + "\n".join(f"  {name:9} {text}" for name, text in STAGES.items())
        + "\n\nexit status: 0, or 1 if an input was no valid .pyc, or 2 for wrong usage",
        formatter_class=_Help,
    )
    add.add_argument("--stage", type=_stage, required=True, metavar="STAGE", help="see below")
    add.add_argument("inputs", nargs="+", metavar="INPUT")
    _add_version(add)
    add.set_defaults(command=_dump)


_INSPECT = """\
Say what a file holds that its source does not show: how it begins and what follows its code, every
code object with its size and verdict, constants, names and code objects that no instruction loads,
messages in operands that mean nothing, doubled and odd names, code in constants."""


def _add_inspect(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = commands.add_parser(
        "inspect",
        help="what a file holds that its source does not show",
        description=f"{_INSPECT}\n\n{_INPUTS}",
        epilog="exit status: 0, or 1 if an input was no code, or 2 for wrong usage",
        formatter_class=_Help,
    )
    add.add_argument("inputs", nargs="+", metavar="INPUT")
    _add_version(add)
    add.add_argument("--json", action="store_true", help="print a line of JSON for each file")
    add.set_defaults(command=_inspect)


def _add_version(add: argparse.ArgumentParser) -> None:
    add.add_argument(
        "--python-version",
        type=_version,
        metavar="3.N",
        help="read every file as one of this version (default: its header, or what fits)",
    )


def _add_torch(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = commands.add_parser(
        "run",
        help="run a script and capture all that it compiles",
        usage="pellucid run [--out DIR] [--calls] [--progress] [-m MODULE | SCRIPT] [argument...] "
        "[--out DIR]",
        description="Run an unmodified script, or with -m a module, and capture what is compiled\n"
        "in it. Exit status and tracebacks are the script's own.",
        epilog="--out is given before the script or after its arguments. Options before the\n"
        "script are never the script's; with --out there, everything after it is the script's.",
        formatter_class=_Help,
    )
    add.add_argument("--out", metavar="DIR", help="where the capture goes")
    add.add_argument(
        "--calls", action="store_true", help="also count how often each compiled version runs"
    )
    add.add_argument(
        "--progress", action="store_true", help="show on stderr what compiles while it does"
    )
    add.add_argument("-m", dest="module", action="store_true", help="run a module by its name")
    add.add_argument("script", metavar="SCRIPT")
    add.error = _wrong_run  # type: ignore[method-assign]
    add.add_argument("arguments", nargs=argparse.REMAINDER, metavar="argument")
    add.set_defaults(command=_run)

    add = commands.add_parser(
        "explain",
        help="say what went wrong in a capture, and what to change",
        description="Say what a capture found: graph breaks, recompiles, what failed or runs "
        "uncompiled,\n"
        "each with its line, its cause and what to change. The first ten lines answer.\n"
        "PyTorch is not needed.",
        epilog="exit status: 0, or 1 if something was found that --fail-on names, or 2 for "
        "wrong usage\n"
        "or where there is no capture that can be read\n\n"
        "kinds for --fail-on: failed, nothing, limit, ranks, stance, hook, nan, difference, "
        "eager, disabled,\n"
        "break, recompile, cached, cudagraph, slow, memory, precision, cache",
        formatter_class=_Help,
    )
    add.add_argument("directory", metavar="DIR", help="the directory of the capture")
    add.add_argument("--json", action="store_true", help="print JSON instead of text")
    add.add_argument(
        "--fail-on",
        type=_kinds,
        default=(),
        metavar="KINDS",
        help="exit with 1 if one of these was found, as break,recompile,eager",
    )
    add.set_defaults(command=_explain)

    add_import(commands, _Help)
    add_find_difference(commands, _Help)
    add_diff(commands, _Help)

    add = commands.add_parser("demo", help="a small model end to end")
    add.add_argument("--out", metavar="DIR", default="pellucid_demo")
    add.set_defaults(command=_demo)


def _version(text: str) -> Tuple[int, int]:
    match = re.fullmatch(r"3\.(\d+)", text)
    if match is None or not 8 <= int(match[1]) <= 15:
        raise argparse.ArgumentTypeError("one of 3.8 to 3.15 is wanted")
    return 3, int(match[1])


def _stage(name: str) -> str:
    from pellucid import _core

    stages = _core.stages()
    if name not in stages:
        raise argparse.ArgumentTypeError(f"one of {', '.join(stages)} is wanted")
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
        return "pellucid: PyTorch is not installed; try: pip install 'pellucid[torch]'"
    return None


def _wrong_run(message: str) -> NoReturn:
    if "SCRIPT" in message:
        message = "run what? give a script, or -m and a module, and --out DIR"
    print(f"pellucid: run: {message}", file=sys.stderr)
    sys.exit(2)


def _run(arguments: argparse.Namespace) -> int:
    out, given = arguments.out, list(arguments.arguments)
    if out is None and len(given) > 1 and given[-2] == "--out":
        out, given = given[-1], given[:-2]
    elif out is None and given and given[-1].startswith("--out="):
        out = given.pop().partition("=")[2]
    if not out:
        print("pellucid: run: where to? give --out DIR", file=sys.stderr)
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
    from pellucid.torch.api import run_script

    process = os.getpid()
    try:
        status: int = run_script.run(arguments.script, given, out, arguments.module)
    finally:
        if os.getpid() == process:  # not in what the script forked
            from pellucid.report import tell_page

            tell_page(out)
    return status


def _kinds(text: str) -> Tuple[str, ...]:
    from pellucid.findings.find import ORDER

    kinds = tuple(part.strip() for part in text.split(",") if part.strip())
    for kind in kinds:
        if kind not in ORDER:
            raise argparse.ArgumentTypeError(
                f"no kind of finding: {kind}; one of {', '.join(ORDER)}"
            )
    return kinds


def _explain(arguments: argparse.Namespace) -> int:
    from pellucid.findings import find_all
    from pellucid.findings.text import as_json, explanation
    from pellucid.torch.store.load import load_all

    try:
        captures = load_all(arguments.directory)
    except NotADump as error:
        print(f"pellucid: {error}", file=sys.stderr)
        return 2
    findings = find_all(captures)
    text = as_json(captures, findings) if arguments.json else explanation(captures, findings)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.flush()
    return 1 if any(finding.kind in arguments.fail_on for finding in findings) else 0


def _demo(arguments: argparse.Namespace) -> int:
    missing = _needs_torch()
    if missing:
        print(missing, file=sys.stderr)
        return 1
    from pellucid.torch.api import demo

    status: int = demo.main(arguments.out)
    return status


_LONG = (_decompile, _dump, _inspect, _explain)
"""The commands that print more than a screen."""


if __name__ == "__main__":
    sys.exit(main())
