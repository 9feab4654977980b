"""The ``torch.compile`` side of pellucid.

Layers, each knowing only those before it: :mod:`names`, :mod:`graph_needs` and :mod:`events`
(values), :mod:`rewrite` (one frame), :mod:`guards`, :mod:`graph_main`, :mod:`dump`,
:mod:`full_code` (text), :mod:`session` (a capture on disk), :mod:`index` (the way through it),
:mod:`trace` (what its logger sends), :mod:`hooks` with :mod:`compat` (torch's internals, nowhere
else), :mod:`fx_meta` (graph modules to values), :mod:`graph_files` and :mod:`capture` (hook calls
to events and files), :mod:`prepare`, :mod:`debug`, :mod:`bytecode_log` (what users call).
"""

from .bytecode_log import install, uninstall
from .debug import debug
from .prepare import prepare_debug

__all__ = ["debug", "install", "prepare_debug", "uninstall"]
