# SPDX-License-Identifier: Apache-2.0
"""Where people work: git, the completion of shells, the manual page.

``pellucid.bash``, ``_pellucid`` (zsh), ``pellucid.fish`` and ``pellucid.1`` are made by
``tools/gen_shell.py`` from the parser of the command line.
"""
