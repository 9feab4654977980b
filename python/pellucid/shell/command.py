# SPDX-License-Identifier: Apache-2.0
"""``pellucid textconv`` and ``pellucid completion``: what the command line does with them."""

import argparse
from pathlib import Path
from typing import Any

from pellucid.errors import complain

SHELLS = {"bash": "pellucid.bash", "zsh": "_pellucid", "fish": "pellucid.fish"}
"""The shells, and the file of each."""

_TEXTCONV = """\
once in a repository (or with --global for all), and a line in .gitattributes:

  git config diff.pyc.textconv 'pellucid textconv'
  git config diff.pyc.cachetextconv true
  echo '*.pyc diff=pyc' >> .gitattributes

git diff, git show and git log -p then show the source of compiled Python. Nothing is proven
there, which would take longer: `pellucid decompile` does that.

exit status: 0, or 1 if the file cannot be read, or 2 for wrong usage"""

_COMPLETION = """\
for one session, or as a line of the shell's startup file:

  bash  eval "$(pellucid completion bash)"
  zsh   source <(pellucid completion zsh)      after compinit
  fish  pellucid completion fish | source"""


def add_shell(commands: Any, formatter: Any) -> None:
    """Add the commands to those of ``pellucid``."""
    add = commands.add_parser(
        "textconv",
        help="the source of a .pyc, for git diff",
        description="Print the source of one file of compiled Python, or of all in an archive, as "
        "git wants\nit from a textconv filter. Of other files it says the size and the SHA-256.",
        epilog=_TEXTCONV,
        formatter_class=formatter,
    )
    add.add_argument("file", metavar="FILE")
    add.set_defaults(command=_textconv)

    add = commands.add_parser(
        "completion",
        help="completion of commands and options for a shell",
        description="Print a script that makes a shell complete commands, options and files.",
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
