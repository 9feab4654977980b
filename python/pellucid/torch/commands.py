# SPDX-License-Identifier: Apache-2.0
"""``pellucid explain``, ``find-difference`` and ``find-nan`` on the command line."""

from __future__ import annotations

import argparse
import functools
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Sequence

from pellucid import terminal
from pellucid.errors import CannotTry, NotADump

if TYPE_CHECKING:
    from pellucid.dump.model.capture import Capture
    from pellucid.findings import Finding

_EPILOG = """\
The script is imported as a module, so the code below `if __name__ == "__main__":` does not run.

exit code: 0 if nothing was found, 1 if something was, 2 for wrong usage, if the script or the
function raises, or if nothing was compiled"""


def add_explain(commands: Any, formatter: Any) -> None:
    """Add the ``explain`` subcommand to ``pellucid``."""
    add = commands.add_parser(
        "explain",
        help="list the problems in a capture, and what to change",
        description="List the problems in a capture: graph breaks, recompiles, code that failed\n"
        "to compile or ran uncompiled. Each has its line, its cause and what to change. The\n"
        "first ten lines are a summary. PyTorch is not needed, except for --try.",
        usage="pellucid explain [-h] [--json] [--fail-on KINDS] [--kinds] [--try]\n"
        "                        [--limit SECONDS] DIR\n"
        "                        [-- (SCRIPT | -m MODULE) [argument ...]]",
        epilog="--try runs the program that was captured, or the one after --, once as it is and\n"
        "once with each remedy, each time in a separate process with a fixed seed. Your files\n"
        "are not modified: a remedy is applied to a copy, and the program runs in a temporary\n"
        "directory. Each remedy then shows its result (tried: works, tried: does not help,\n"
        "or suggestion if it was not tried), and the graph breaks, recompiles, seconds and\n"
        "largest difference of results before and after it. Remedies that work come first.\n\n"
        "exit code: 0 on success, 1 if a kind named by --fail-on was found, 2 for wrong\n"
        "usage or if there is no readable capture",
        formatter_class=formatter,
    )
    add.add_argument("directory", metavar="DIR", help="the directory of the capture")
    add.add_argument("--json", action="store_true", help="print JSON instead of text")
    add.add_argument(
        "--fail-on",
        type=_kinds,
        default=(),
        metavar="KINDS",
        help="exit with 1 if one of these was found, for example break,recompile,eager",
    )
    add.add_argument("--kinds", action=_Kinds, help="list the kinds of problems, and exit")
    add.add_argument(
        "--try", dest="tries", action="store_true", help="try each remedy on a copy of the program"
    )
    add.add_argument(
        "--limit",
        type=_seconds,
        default=300.0,
        metavar="SECONDS",
        help="with --try, how long one run may take (default: 300)",
    )
    add.set_defaults(command=explain)


def add_find_difference(commands: Any, formatter: Any) -> None:
    """Add the ``find-difference`` subcommand to ``pellucid``."""
    add = commands.add_parser(
        "find-difference",
        help="find the first operation where compiled code and eager disagree",
        description="Run a function without arguments through each stage of its compile. Report\n"
        "the first stage, operation and line that compute a different result from eager.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("target", metavar="SCRIPT:FUNCTION", type=_target, help="the function to run")
    add.add_argument(
        "--reference",
        choices=["float64"],
        help="also report which result is closer to one computed in this type",
    )
    add.add_argument("--rtol", type=_tolerance, help="relative tolerance (default: by type)")
    add.add_argument("--atol", type=_tolerance, help="absolute tolerance (default: by size)")
    add.add_argument(
        "--cure",
        action="store_true",
        help="also find the smallest change of settings or operations under which they agree",
    )
    add.add_argument("--json", action="store_true", help="print JSON instead of text")
    add.set_defaults(command=_find_difference)


def add_find_nan(commands: Any, formatter: Any) -> None:
    """Add the ``find-nan`` subcommand to ``pellucid``."""
    add = commands.add_parser(
        "find-nan",
        help="find the first operation of compiled code that produces a NaN or Inf",
        description="Run a function without arguments, and its compiled code one operation at a\n"
        "time. Report the first operation and line that produces a NaN or Inf.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    add.add_argument("target", metavar="SCRIPT:FUNCTION", type=_target, help="the function to run")
    add.set_defaults(command=_find_nan)


def _kinds(text: str) -> tuple[str, ...]:
    from pellucid.findings.kinds import KINDS

    kinds = tuple(part.strip() for part in text.split(",") if part.strip())
    for kind in kinds:
        if kind not in KINDS:
            raise argparse.ArgumentTypeError(
                f"unknown kind of finding: {kind} (choose from {', '.join(KINDS)})"
            )
    return kinds


class _Kinds(argparse.Action):
    """The action of ``--kinds``: list the kinds of findings."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from pellucid.findings.kinds import listed

        print(listed(), end="")
        parser.exit()


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError("expected a number of seconds, more than 0")
    return value


STYLES = {
    r"(?m)^\d+\. [\w ]+?(?=  |\n| [\w./<-]+:\d)": "bold",
    r"(?m)^   change:": "bold",
    r"(?m)^      \+.*": "green",
    r"(?m)^      -.*": "red",
    r"(?m)^      @@.*": "cyan",
    r"(?i)\btried: works( in part)?": "green",
    r"(?i)\btried: does not help": "red",
    r"(?m)^   confidence: .*": "dim",
}
"""The terminal styles of `explain`, by regular expression."""


def explain(arguments: argparse.Namespace) -> int:
    """Print the findings of a capture; return the exit code."""
    from pellucid.dump.store.load import load_all
    from pellucid.findings import find_all
    from pellucid.findings.text import as_json, explanation

    try:
        captures = load_all(arguments.directory)
    except NotADump as error:
        print(f"pellucid: {error}", file=sys.stderr)
        return 2
    findings = find_all(captures)
    try:
        findings = _tried(arguments, captures, findings)
    except CannotTry as error:
        print(f"pellucid: explain: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        text = as_json(captures, findings)
    else:
        text = explanation(captures, findings, arguments.columns)
        text = terminal.styled(text, STYLES) if arguments.colours else text
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.flush()
    return 1 if any(finding.kind in arguments.fail_on for finding in findings) else 0


def _tried(
    arguments: argparse.Namespace, captures: Sequence[Capture], findings: list[Finding]
) -> list[Finding]:
    """Return the findings with trial results, if ``--try`` was given."""
    if not arguments.tries:
        if arguments.program:
            raise CannotTry("a program after -- is for --try")
        return findings
    from pellucid.dump.model.capture import PAGE
    from pellucid.findings.remembered import forget, remember

    from .trying.trial import try_all

    told = try_all(captures, forget(findings), arguments.program, arguments.limit, terminal.inform)
    for capture in captures:
        remember(capture.directory, told)
        if (capture.directory / PAGE).is_file():
            from pellucid.report import report

            report(capture.directory)
    return told


def _target(text: str) -> tuple[str, str]:
    script, colon, function = text.rpartition(":")
    if not colon or not script or not function.isidentifier():
        raise argparse.ArgumentTypeError("expected SCRIPT:FUNCTION, for example train.py:step")
    return script, function


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError("expected a number of at least 0")
    return value


def _find_difference(arguments: argparse.Namespace) -> int:
    def asking() -> Callable[[Any], Any]:
        from .api.difference import find_difference

        return functools.partial(
            find_difference,
            reference=arguments.reference,
            rtol=arguments.rtol,
            atol=arguments.atol,
            cure=arguments.cure,
        )

    return _found(arguments, "find-difference", asking, arguments.json)


def _find_nan(arguments: argparse.Namespace) -> int:
    def asking() -> Callable[[Any], Any]:
        from .api.nan import find_nan

        return find_nan

    return _found(arguments, "find-nan", asking, as_json=False)


def _found(
    arguments: argparse.Namespace,
    command: str,
    asking: Callable[[], Callable[[Any], Any]],
    as_json: bool,
) -> int:
    """Run the check on the named function and print the report; return the exit code."""
    script, name = arguments.target
    why = ""
    if not os.path.isfile(script):
        why = f"{script}: no such file"
    elif importlib.util.find_spec("torch") is None:
        why = "PyTorch is not installed. Install it with: pip install torch"
    else:
        ask = asking()  # imported before modules next to the script can shadow its imports
        sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
        try:
            function = getattr(_loaded(script), name, None)
            if callable(function):
                found = ask(function)
                print(found.as_json() if as_json else found, end="" if as_json else "\n")
                return 1 if found else 0 if found.graphs else 2
            why = f"{script}: no function {name}"
        except Exception as error:
            why = f"{script}: {type(error).__name__}: {error}"
    print(f"pellucid: {command}: {why}", file=sys.stderr)
    return 2


def _loaded(script: str) -> ModuleType:
    """Run a script as a module that stays in ``sys.modules``, where its classes are looked up."""
    path = os.path.abspath(script)
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules:  # a library's module, which is still needed
        name = f"{name} of {os.path.dirname(path)}"
    loader = importlib.machinery.SourceFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
