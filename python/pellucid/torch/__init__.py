"""The ``torch.compile`` side of pellucid.

Layers, each knowing only those before it: :mod:`names`, :mod:`graph_needs` and :mod:`events`
(values), :mod:`rewrite` (one frame), :mod:`guards` and
the ``guard_*`` modules, :mod:`stages`, :mod:`graph_main`, :mod:`dump`,
:mod:`full_code` (text), :mod:`directories` and :mod:`session` (a capture on disk), :mod:`index`
(the way through it), :mod:`trace` (what torch's trace logger sends), :mod:`facts` (what that tells
beside graphs), :mod:`hooks` with :mod:`compat` and :mod:`shapes` (torch's internals),
:mod:`fx_meta` (graph modules to values), :mod:`graph_files` and :mod:`capture` (hook calls to
events and files), :mod:`prepare`, :mod:`debug`, :mod:`bytecode_log` (what users call).
"""

from .bytecode_log import install, uninstall
from .debug import debug
from .nan import NanReport, find_nan
from .prepare import dump_graph, prepare_debug

__all__ = ["NanReport", "debug", "dump_graph", "find_nan", "install", "prepare_debug", "uninstall"]
