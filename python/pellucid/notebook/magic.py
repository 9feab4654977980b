# SPDX-License-Identifier: Apache-2.0
"""``%%pellucid``: run a cell and capture all that it compiles."""

import argparse
import ast
import shlex
from typing import Any, List, NoReturn

from IPython.core.error import UsageError

from pellucid.torch import prepare_debug

_DIRECTORY = "pellucid_dump"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%pellucid: {message}")

    def exit(self, status: int = 0, message: "str | None" = None) -> NoReturn:
        raise UsageError(message or "")  # after --help, which has been printed


def parser() -> argparse.ArgumentParser:
    """Return what reads the options of the magic."""
    made = _Parser(
        prog="%%pellucid",
        description="Run the cell and capture what it compiles. The result is the session.",
    )
    made.add_argument(
        "--out",
        metavar="DIR",
        default=_DIRECTORY,
        help=f"where the capture goes (default: {_DIRECTORY})",
    )
    made.add_argument(
        "--calls", action="store_true", help="also count how often each compiled version runs"
    )
    made.add_argument("--page", action="store_true", help="also write the page of the capture")
    return made


def load(shell: Any) -> None:
    """Give an IPython shell the magic."""

    def pellucid(line: str, cell: str) -> Any:
        """Run the cell and capture all that it compiles; ``%%pellucid --help`` has the options."""
        __tracebackhide__ = True
        return captured(shell, line, cell)

    shell.register_magic_function(pellucid, magic_kind="cell")


def captured(shell: Any, line: str, cell: str) -> Any:
    """Run a cell with the options of a line; return the session of its capture."""
    __tracebackhide__ = True  # an error in the cell is the cell's
    options = parser().parse_args(shlex.split(line))
    with prepare_debug(options.out, calls=options.calls) as session:
        _run(shell, cell)
    if options.page:
        from pellucid.report import report

        report(session.directory)
    return session


def _run(shell: Any, cell: str) -> None:
    """Run a cell as IPython does: its last expression is shown, its source can be found."""
    __tracebackhide__ = True
    code = shell.transform_cell(cell)
    number = len(shell.user_ns.get("In", [0])) - 1
    name = shell.compile.cache(code, number, raw_code=cell)
    body: List[ast.stmt] = shell.compile.ast_parse(code, filename=name).body
    last: List[ast.stmt] = []
    if body and isinstance(body[-1], ast.Expr) and not cell.rstrip().endswith(";"):
        last = [body.pop()]
    exec(shell.compile(ast.Module(body, []), name, "exec"), shell.user_ns)
    if last:
        exec(shell.compile(ast.Interactive(last), name, "single"), shell.user_ns)
