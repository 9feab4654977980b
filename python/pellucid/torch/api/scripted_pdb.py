# SPDX-License-Identifier: Apache-2.0
"""A debugger for :mod:`~pellucid.torch.api.debug` without a terminal."""

from __future__ import annotations

import pdb


class ScriptedPdb(pdb.Pdb):
    """A pdb that reads commands from a file and continues the program when they run out."""

    def do_EOF(self, arg: str) -> bool | None:
        """Continue at the end of the commands."""
        self.clear_all_breaks()
        return self.do_continue(arg)
