"""Run programs one after the other, each in a capture of its own: `run_reports.py OUT PROGRAM…`.

What a program raises, prints and warns of is its own affair; the test looks at the captures.
"""

import contextlib
import io
import runpy
import sys
import warnings
from pathlib import Path

import pellucid
import torch

torch.set_num_threads(1)
out = Path(sys.argv[1])
for program in sys.argv[2:]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.suppress(Exception, SystemExit))
        with pellucid.prepare_debug(out / Path(program).stem[:3]):
            runpy.run_path(program, run_name="__main__")
