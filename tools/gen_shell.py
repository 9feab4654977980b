# SPDX-License-Identifier: Apache-2.0
"""Write the completion of shells and the manual page from the parser of the command line.

Run it as `.venv/bin/python tools/gen_shell.py` after a change of a command or an option; `--check`
writes nothing and fails where a file is not what it would write. It needs shtab and
argparse-manpage. How argparse words things differs between releases of Python: it is run on 3.11.
"""

import argparse
import sys
from pathlib import Path
from typing import Dict, Iterator

import shtab
from argparse_manpage.manpage import Manpage
from pellucid.__main__ import make_parser
from pellucid._version import __version__
from pellucid.shell.command import SHELLS

PLACE = Path(__file__).resolve().parent.parent / "python" / "pellucid" / "shell"
FILES = ("inputs", "file", "out", "script", "target")
FOLDERS = ("directory", "directories", "first", "second")
MADE_ON = (3, 11)


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of the commands below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from actions(below)


def texts() -> Dict[str, str]:
    """Return what each file holds."""
    parser = make_parser()
    for action in actions(parser):
        kind = shtab.FILE if action.dest in FILES else shtab.DIRECTORY
        if action.dest in FILES + FOLDERS:
            action.complete = kind  # type: ignore[attr-defined]
    made = {file: shtab.complete(parser, shell=shell) for shell, file in SHELLS.items()}
    made["pellucid.1"] = manual()
    return {name: f"{text.rstrip()}\n" for name, text in made.items()}


def manual() -> str:
    """Return the manual page, in the language of man."""
    parser = make_parser()
    data = {
        "project_name": "pellucid",
        "version": __version__,
        "date": " ",  # none: by default it is that of the day, and the text is to stay the same
        "description": "reads Python bytecode back as source, and opens the PyTorch compiler",
        "manual_section": 1,
        "manual_title": "User Commands",
    }
    page = str(Manpage(parser, format="pretty", _data=data))
    return "\n".join(line.rstrip() for line in page.split("\n"))


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
