# SPDX-License-Identifier: Apache-2.0
"""The names that Dynamo gives to what it makes: the one table of them.

A pattern is to be matched with a whole name, by its ``match``; what looks for names within text has
a function here.
"""

from __future__ import annotations

import re

GRAPH = re.compile(r"__compiled_fn_\w+\Z")
"""What runs a graph."""
NUMBERED_GRAPH = re.compile(r"__compiled_fn_\d+(?:_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12})?\Z")
"""The same as Dynamo itself writes it, which differs from run to run."""
RESUME = re.compile(r"__resume_at_(\d+)_\d+\Z")
"""What resumes after a graph break; the first group is the offset of the instruction."""
RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)\Z")
"""The name of that function's code: the function that was broken, and the line."""
STACK = re.compile(r"___stack(\d+)\Z")
"""A value that lay on the stack at a break, by where it lay."""
IMPORT = re.compile(r"__import_\w+\Z", re.ASCII)
"""A module that Dynamo has imported."""
OWN_IMPORT = re.compile(r"__import_torch_dot__dynamo\w*\Z")
"""A module of Dynamo's own."""
INSTALLED = re.compile(r"(?:__compiled_fn_|__resume_at_|__comprehension_|__import_)\w+\Z")
"""What Dynamo puts into the globals and nobody changes."""
HELD = re.compile(r"___module_(\w+?)_\d{9,}_c\w+\Z")
"""An object that it keeps there, by the object's address; the first group is its name."""
NUMBERED = re.compile(r"(__builtins_dict__|__gen_rand_values)_\d+\Z")
"""What has a number of the process."""
CONTEXT = re.compile(r"___context_manager_\w+\Z")
"""A context manager that is entered anew after a break."""

_NUMBERED_IN_TEXT = re.compile(r"\b(__builtins_dict__|__gen_rand_values)_\d+\b")
_COUNTED_IN_TEXT = re.compile(r"((?:…|\d{9,})_c)\d+")
_GRAPH_CALLED = re.compile(r"\b(__compiled_fn_\w+)\(")
_RESUME_CALLED = re.compile(r"\b(__resume_at_\w+)\(")
_STACK_IN_TEXT = re.compile(r"___stack(\d+)")


def without_numbers(text: str) -> str:
    """Return a text without the numbers of the process in names of Dynamo's.

    >>> without_numbers("G['__builtins_dict___54']['any']")
    "G['__builtins_dict__']['any']"
    >>> without_numbers("G['__optimizer_…_c85']()")
    "G['__optimizer_…_c']()"
    """
    return _COUNTED_IN_TEXT.sub(r"\1", _NUMBERED_IN_TEXT.sub(r"\1", text))


def graphs_called(text: str) -> list[str]:
    """Return the names of the graphs that a text calls.

    >>> graphs_called("y = __compiled_fn_0_0(x)[0]"), resumes_called("return __resume_at_4_1(y)")
    (['__compiled_fn_0_0'], ['__resume_at_4_1'])
    """
    return _GRAPH_CALLED.findall(text)


def resumes_called(text: str) -> list[str]:
    """Return the names of what a text calls to resume after a break."""
    return _RESUME_CALLED.findall(text)


def broken_function(name: str) -> tuple[str, int | None]:
    """Return the function that the code of a name is of, and the line at which it resumes.

    >>> broken_function("torch_dynamo_resume_in_forward_at_31"), broken_function("forward")
    (('forward', 31), ('forward', None))
    """
    found = RESUMED.match(name)
    return (name, None) if found is None else (found[1], int(found[2]))


def renamed(name: str, function: str) -> str:
    """Return the name of the code of a function that is called something else.

    >>> renamed("torch_dynamo_resume_in_wrapper_at_31", "Bert.forward"), renamed("wrapper", "f")
    ('torch_dynamo_resume_in_Bert.forward_at_31', 'f')
    """
    line = broken_function(name)[1]
    return function if line is None else f"torch_dynamo_resume_in_{function}_at_{line}"


def with_stack_named(source: str, words: str) -> str:
    """Return the source of a value with ``words`` in the place of one that lay on the stack.

    >>> with_stack_named("___stack0.shape", "value of line 5")
    'value of line 5.shape'
    """
    return _STACK_IN_TEXT.sub(words, source)
