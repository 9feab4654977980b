# SPDX-License-Identifier: Apache-2.0
"""A debugger for :mod:`~pellucid.torch.api.debug` where nobody sits at a terminal."""

from __future__ import annotations

import pdb


class ScriptedPdb(pdb.Pdb):
    """A pdb whose answers come from a file: when they are used up, the program goes on."""

    def do_EOF(self, arg: str) -> bool | None:
        """Go on at the end of the answers."""
        self.clear_all_breaks()
        return self.do_continue(arg)
