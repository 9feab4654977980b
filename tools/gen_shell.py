# SPDX-License-Identifier: Apache-2.0
"""Write the completion of shells and the manual page from the parser of the command line.

Run it as `.venv/bin/python tools/gen_shell.py` after a change of a command or an option; `--check`
writes nothing and fails where a file is not what it would write. It needs shtab and
argparse-manpage. How argparse words things differs between releases of Python: it is run on 3.11.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Dict, Iterator, Tuple

import shtab
from argparse_manpage.manpage import Manpage
from pellucid.__main__ import STAGES, make_parser
from pellucid._version import __version__
from pellucid.shell.command import SHELLS

PLACE = Path(__file__).resolve().parent.parent / "python" / "pellucid" / "shell"
FILES = ("inputs", "file", "out", "script", "target")
FOLDERS = ("directory", "directories", "first", "second")
WORDS = {"stage": tuple(STAGES), "python_version": tuple(f"3.{minor}" for minor in range(8, 16))}
"""What may follow an option that checks its value itself."""
MADE_ON = (3, 11)
ENVIRONMENT = (
    ("NO_COLOR", "If it is set and not empty, output has no colours."),
    ("PELLUCID_QUIET", "If it is set and not empty or 0, no progress and no summary is printed."),
    ("PELLUCID_PAGER, PAGER", "The pager for long output on a terminal; empty or cat: none."),
    ("PELLUCID_PYTHON_3_9", "The Python 3.9 that proves source; so for other versions."),
)


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of the commands below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from actions(below)


def commands(parser: argparse.ArgumentParser) -> Iterator[Tuple[str, argparse.ArgumentParser, str]]:
    """Yield the name, the parser and the line of help of each command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for row in action._choices_actions:
                yield row.dest, action.choices[row.dest], row.help or ""


def texts() -> Dict[str, str]:
    """Return what each file holds."""
    parser = make_parser()
    for _, below, line in commands(parser):
        below.description = line  # shells show one line, and would cut the description there
    for action in actions(parser):
        if action.dest in WORDS:
            action.choices = WORDS[action.dest]
        kind = shtab.FILE if action.dest in FILES else shtab.DIRECTORY
        if action.dest in FILES + FOLDERS:
            action.complete = kind  # type: ignore[attr-defined]
    made = {file: shtab.complete(parser, shell=shell) for shell, file in SHELLS.items()}
    # shtab takes what `source` reads for a function that zsh loads, and calls it too early.
    before, after = "$zsh_eval_context[-1] == eval", "$zsh_eval_context[-1] == (eval|file)"
    assert before in made[SHELLS["zsh"]]
    made[SHELLS["zsh"]] = made[SHELLS["zsh"]].replace(before, after)
    made["pellucid.1"] = manual()
    return {name: f"{text.rstrip()}\n" for name, text in made.items()}


def manual() -> str:
    """Return the manual page, in the language of man."""
    parser = make_parser()
    data = {
        "project_name": "pellucid",
        "version": __version__,
        "date": " ",  # none: by default it is that of the day, and the text is to stay the same
        "description": "see what torch.compile runs, and turn CPython bytecode back into source",
        "manual_section": 1,
        "manual_title": "User Commands",
    }
    page = str(Manpage(parser, format="pretty", _data=data))
    page = "\n".join(line.rstrip() for line in page.split("\n"))
    # Words are neither broken nor spread: many are names of files and options.
    page = page.replace("\n.SH NAME", "\n.nh\n.ad l\n.SH NAME", 1)
    page = page.replace(".SH\nPOSITIONAL ARGUMENTS", ".SH COMMANDS", 1)
    page = re.sub(r"^usage: ((?:.+\n)+)", _usage, page, flags=re.MULTILINE)
    head, *sections = page.split("\n.SH COMMAND ")
    ends = [_as_it_is(below.epilog or "") for _, below, _ in commands(parser)]
    parts = [f"{text.rstrip()}\n{end}" for text, end in zip(sections, ends)]
    variables = "".join(f".TP\n.B {name}\n{text}\n" for name, text in ENVIRONMENT)
    return "\n.SH COMMAND ".join([head, *parts]) + f"\n.SH ENVIRONMENT\n{variables}"


def _usage(found: "re.Match[str]") -> str:
    lines = [line.replace("       ", "", 1) for line in found[1].splitlines()]
    return ".nf\n" + "\n".join(lines) + "\n.fi\n"


def _as_it_is(text: str) -> str:
    """Return lines that stay lines in a manual page."""
    if not text:
        return ""
    lines = text.replace("\\", r"\e").replace("-", r"\-").splitlines()
    safe = [rf"\&{line}" if line[:1] in (".", "'") else line for line in lines]
    return "\n.PP\n.nf\n" + "\n".join(safe) + "\n.fi\n"


def main() -> int:
    """Write the files, or compare them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    check = options.parse_args().check
    status = 0
    for name, text in texts().items():
        place = PLACE / name
        if place.exists() and place.read_text(encoding="utf-8") == text:
            continue
        if check:
            print(f"{place.name}: not what tools/gen_shell.py writes: run it")
            status = 1
        else:
            place.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
