# SPDX-License-Identifier: Apache-2.0
"""What Dynamo's bytecode takes for granted: facts that the decompiler and its proof may build on.

A transformed frame is full of names that no person chose.  Which locals are Dynamo's own, which
globals it has installed and never binds anew, that a compiled graph returns a tuple or a list: none
of it can be read off the bytecode, all of it is so by the way the frame is made.  Here it is said
once; ``src/object/facts.h`` says what each kind means.
"""

from __future__ import annotations

from types import CodeType
from typing import Dict, List

from pellucid.recompile import def_name

from ..model.dynamo_names import GRAPH, INSTALLED, OWN_IMPORT
from ..model.names import is_resumed

Facts = Dict[str, List[str]]

# What Dynamo binds in the frame's globals before the code runs.  A clean-up takes them away when
# the code that uses them is gone.
# Modules of Dynamo itself: nobody binds their functions anew while compiled code runs.
# The profiler's marks around what happens before a graph: only their order among themselves shows.
_MARKS = ("record_pregraph_bytecode_enter", "record_pregraph_bytecode_exit")
# A local of each resume function, which says where its prologue is; nothing reads it.
_PROLOGUE = "__is_tracing_resume_prologue"
# A class that nobody can change, in a module whose `object` nobody binds anew.
_BUILTINS = "__import_builtins"
_SETATTR = ("object", "__setattr__")
# Where a module keeps what it is made of: the dictionaries, and the modules in one of them. Its
# tensors are not among these: they may be replaced while the code runs, and are big.
_OWNED = ("_modules", "_parameters", "_buffers")
# What makes a function that refers to cells of the frame.
_MAKERS = ("_create_nested_fn",)
# What reads a property of a tensor, for a graph's argument.
_READS = ("call_size", "call_stride", "call_storage_offset")


def facts(original: CodeType, code: CodeType) -> Facts:
    """Say what is known of ``code``, which Dynamo made of ``original``.

    A resume function is Dynamo's own too: it may be given as both.

    >>> def toy(a):
    ...     return a
    >>> def made(a):
    ...     tmp_1 = __compiled_fn_0_0(a)
    ...     return tmp_1[0]
    >>> known = facts(toy.__code__, made.__code__)
    >>> known["temporaries"], known["graphs"]
    (['tmp_1'], ['__compiled_fn_0_0'])
    """
    # Where a frame has cells, old torch has it make the function that resumes it: that is the
    # program's code from there on, after what Dynamo has put before.
    inside = [const for const in code.co_consts if isinstance(const, CodeType)]
    resumed = [nested for nested in inside if is_resumed(nested.co_name)]
    chosen = {
        name
        for given in (original, *resumed)
        for name in (*given.co_varnames, *given.co_cellvars, *given.co_freevars)
    } - {_PROLOGUE}
    locals_ = [name for made in (code, *resumed) for name in made.co_varnames]
    names = list(dict.fromkeys(code.co_names))
    modules = [name for name in names if OWN_IMPORT.match(name)]
    attributes = [name for name in names if not name.startswith("__")]
    own = [f"{module}.{name}" for module in modules for name in attributes]
    fixed = []
    if {_BUILTINS, *_SETATTR} <= {*names}:
        fixed = [f"{_BUILTINS}.object", f"{_BUILTINS}.object.__setattr__"]
    return {
        "temporaries": [name for name in dict.fromkeys(locals_) if name not in chosen],
        "steady": [name for name in names if INSTALLED.match(name)] + own + fixed,
        "apart": [name for name in own if name.rpartition(".")[2] in _MARKS],
        "reads": [name for name in own if name.rpartition(".")[2] in _READS],
        "objects": [name for name in own if name.rpartition(".")[2] == _MARKS[0]],
        "makers": [name for name in own if name.rpartition(".")[2] in _MAKERS],
        "owned": [name for name in _OWNED if name in names] + ["_modules[]"],
        "graphs": [name for name in names if GRAPH.match(name)],
        "nested": list(dict.fromkeys(def_name(nested) for nested in resumed)),
    }
