# SPDX-License-Identifier: Apache-2.0
"""How the command line reads and shows its help: suggestions, widths, commands in groups."""

import argparse
import difflib
import re
import textwrap
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from pellucid import terminal

_WIDTH = 100
"""The columns for which texts are laid out by hand."""

GROUPS = {
    "Capture PyTorch": (
        "run",
        "demo",
        "explain",
        "report",
        "diff",
        "find-difference",
        "find-nan",
        "import",
        "open",
    ),
    "Decompile": ("decompile", "inspect", "match", "dis", "dump", "corpus", "textconv"),
}
"""The headings of `pellucid --help`; any other command comes last."""


class Parser(argparse.ArgumentParser):
    """A parser that suggests what a misspelled command or option may have meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.metavar == "COMMAND" and value not in (action.choices or ()):
            known = _meant(value, list(action.choices or ()))
            raise argparse.ArgumentError(None, f"unknown command: {value}{known}")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and exit with 2."""
        valued = re.search(r"(--[\w-]+): ignored explicit argument '(.*)'$", message)
        if valued:
            self.unknown([f"{valued[1]}={valued[2]}"])
        super().error(message.replace("SCRIPT, argument", "SCRIPT"))

    def unknown(self, arguments: List[str]) -> NoReturn:
        """Print the error for arguments that no option takes, and exit with 2."""
        known = list(self._option_string_actions)
        name, equals, _ = arguments[0].partition("=")
        name = arguments[0] if equals and name in known else name
        self.error(f"unknown argument: {name}{_meant(name, known)}")


def add_verify(parser: argparse.ArgumentParser, tiers: Dict[str, str]) -> None:
    """Add the options that select a proof: `--verify`, `--verify=TIER` and `--no-verify`.

    The tier must follow a `=`, since `--verify FILE` proves a file. argparse has no such values,
    but an option may have the name `--verify=strict`.
    """
    for tier, text in tiers.items():
        name = "--verify" if tier == "best" else f"--verify={tier}"
        parser.add_argument(name, dest="verify", action="store_const", const=tier, help=text)
    saving = "skip the proof (saves a third of the time or more)"
    parser.add_argument("--no-verify", dest="verify", action="store_const", const="", help=saving)


def _meant(name: str, known: List[str]) -> str:
    found = difflib.get_close_matches(name, known, 1)
    return f". Did you mean {found[0]}?" if found else ""


class Help(argparse.RawDescriptionHelpFormatter):
    """Texts stay as they are written, unless the terminal is narrower, and options have room."""

    def __init__(self, prog: str) -> None:
        self._columns = terminal.columns() or _WIDTH
        super().__init__(prog, max_help_position=26, width=min(96, self._columns))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        text = super()._fill_text(text, width, indent)
        is_wide = self._columns >= _WIDTH
        return text if is_wide else "\n".join(_narrowed(text.splitlines(), width))


def _narrowed(lines: List[str], width: int) -> List[str]:
    """Return paragraphs and the rows of tables, wrapped."""
    joined: List[str] = []
    for line in lines:
        own, hang = _indents(joined[-1]) if joined and joined[-1] else (0, -1)
        if line and _indents(line)[0] == hang and (hang > own or own == 0):
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    wrapped = []
    for line in joined:
        wrapped += textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * _indents(line)[1],
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return wrapped


def _indents(line: str) -> Tuple[int, int]:
    """Return where a line starts, and where a second one of the same paragraph or row would."""
    own = len(line) - len(line.lstrip())
    row = re.match(r" +\S+(?: \S+)* {2,}", line)
    return own, len(row[0]) if row else own


class Overview(Help):
    """Lists the commands below a heading for each group."""

    def start_section(self, heading: Optional[str]) -> None:
        super().start_section("commands" if heading == "positional arguments" else heading)

    def _format_action(self, action: argparse.Action) -> str:
        if not isinstance(action, argparse._SubParsersAction):
            return super()._format_action(action)
        rows = {row.dest: row.help for row in action._choices_actions}
        grouped = {name for names in GROUPS.values() for name in names}
        lines = []
        for title, names in {**GROUPS, "Other": [n for n in rows if n not in grouped]}.items():
            lines.append(f"  {title}")
            lines += [f"    {name:16}  {rows[name]}" for name in names]
        return "\n".join(_narrowed(lines, self._columns)) + "\n"
