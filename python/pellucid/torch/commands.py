# SPDX-License-Identifier: Apache-2.0
"""``pellucid find-difference SCRIPT:FUNCTION``: what the command line does with it."""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

_EPILOG = """\
The script is imported as a module, so the code below `if __name__ == "__main__":` does not run.

exit status: 0 if there is no difference, 1 if there is one, 2 for wrong usage, if the script or the
function raises, or if nothing was compiled"""


def add_find_difference(commands: Any, formatter: Any) -> None:
    """Add the command to those of ``pellucid``."""
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
    add.add_argument("--json", action="store_true", help="print JSON instead of text")
    add.set_defaults(command=_find_difference)


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
    script, name = arguments.target
    if not os.path.isfile(script):
        return _complain(f"{script}: no such file")
    if importlib.util.find_spec("torch") is None:
        return _complain("PyTorch is not installed. Install it with: pip install torch")
    from .api.difference import find_difference

    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    try:
        function = getattr(_loaded(script), name, None)
        if not callable(function):
            return _complain(f"{script}: no function {name}")
        found = find_difference(
            function, reference=arguments.reference, rtol=arguments.rtol, atol=arguments.atol
        )
    except Exception as error:
        return _complain(f"{script}: {type(error).__name__}: {error}")
    print(found.as_json() if arguments.json else found, end="" if arguments.json else "\n")
    return 1 if found else 0 if found.graphs else 2


def _loaded(script: str) -> ModuleType:
    """Run a script as a module that stays in ``sys.modules``, where its classes are looked up."""
    path = os.path.abspath(script)
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules:  # of a library, which still needs it
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


def _complain(message: str) -> int:
    print(f"pellucid: find-difference: {message}", file=sys.stderr)
    return 2
