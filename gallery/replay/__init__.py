# SPDX-License-Identifier: Apache-2.0
"""Run a program by the files of its capture, without torch.compile: what an entry's run.py calls.

`torch.compile` is replaced by a stand-in. Inside of what it wraps, a function that was captured
goes to its `full_code_for_*` file: the guards choose a version, its transformed code runs, that
calls graphs (`__compiled_fn_*`) and resume functions, and these come from their files too. What
Dynamo left alone runs as it was written. The program's results are then compared, bit for bit, with
those that were recorded when it was compiled.

This needs torch and pellucid, and nothing else of the gallery.
"""

from .command import run
from .files import CannotReplay

__all__ = ["CannotReplay", "run"]
