# SPDX-License-Identifier: Apache-2.0
"""``pellucid textconv`` and ``pellucid completion``: what the command line does with them."""

import argparse
from pathlib import Path
from typing import Any

from pellucid.errors import complain

SHELLS = {"bash": "pellucid.bash", "zsh": "_pellucid", "fish": "pellucid.fish"}
"""The shells, and the file of each."""

_TEXTCONV = """\
To set it up, run once per repository (or with --global for all of them):

  git config diff.pyc.textconv 'pellucid textconv'
  git config diff.pyc.cachetextconv true
  echo '*.pyc diff=pyc' >> .gitattributes

git diff, git show and git log -p then show the source of compiled Python. To save time,
the source is not proven; use `pellucid decompile` for that.

exit code: 0 on success, 1 if the file cannot be read, 2 for wrong usage"""

_COMPLETION = """\
Run one of these, or put it into the shell's startup file:

  bash  eval "$(pellucid completion bash)"
  zsh   source <(pellucid completion zsh)      after compinit
  fish  pellucid completion fish | source"""


def add_shell(commands: Any, formatter: Any) -> None:
    """Add the commands to those of ``pellucid``."""
    add = commands.add_parser(
        "textconv",
        help="print the source of a .pyc (for git diff)",
        description="Print the source of a compiled Python file, or of every one in an archive,\n"
        "for use as a git textconv filter. For other files, print the size and the SHA-256.",
        epilog=_TEXTCONV,
        formatter_class=formatter,
    )
    add.add_argument("file", metavar="FILE", help="the file to print")
    add.set_defaults(command=_textconv)

    add = commands.add_parser(
        "completion",
        help="print the completion script for a shell",
        description="Print a script that completes commands, options and files in a shell.",
        epilog=_COMPLETION,
        formatter_class=formatter,
    )
    add.add_argument("shell", choices=tuple(SHELLS))
    add.set_defaults(command=_completion)


def _textconv(arguments: argparse.Namespace) -> int:
    from pellucid import batch
    from pellucid.shell.textconv import text_of

    try:
        batch.print_text(text_of(arguments.file))
    except OSError as error:
        complain(arguments.file, (error.strerror or str(error)).lower())
        return batch.EXIT_ERROR
    return batch.EXIT_OK


def _completion(arguments: argparse.Namespace) -> int:
    from pellucid import batch

    place = Path(__file__).parent / SHELLS[arguments.shell]
    batch.print_text(place.read_text(encoding="utf-8"))
    return batch.EXIT_OK
