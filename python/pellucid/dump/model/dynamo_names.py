# SPDX-License-Identifier: Apache-2.0
"""The names that Dynamo generates: a table of patterns.

Use a pattern's ``match`` on a whole name.  To search for names within text, use the functions.
"""

from __future__ import annotations

import re

GRAPH = re.compile(r"__compiled_fn_\w+\Z")
"""A compiled graph."""
NUMBERED_GRAPH = re.compile(r"__compiled_fn_\d+(?:_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12})?\Z")
"""The name that Dynamo itself generates for a graph, which differs between runs."""
RESUME = re.compile(r"__resume_at_(\d+)_\d+\Z")
"""A resume function; the first group is the instruction's offset."""
RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)\Z")
"""The name of a resume function's code: the original function, and the line."""
STACK = re.compile(r"___stack(\d+)\Z")
"""A value on the stack at a break; the group is its position."""
IMPORT = re.compile(r"__import_\w+\Z", re.ASCII)
"""A module that Dynamo imported."""
OWN_IMPORT = re.compile(r"__import_torch_dot__dynamo\w*\Z")
"""One of Dynamo's own modules."""
INSTALLED = re.compile(r"(?:__compiled_fn_|__resume_at_|__comprehension_|__import_)\w+\Z")
"""Globals that Dynamo installs and that never change."""
HELD = re.compile(r"___module_(\w+?)_\d{9,}_c\w+\Z")
"""An object in the globals, with its address in Dynamo's name; the first group is its own name."""
NUMBERED = re.compile(r"(__builtins_dict__|__gen_rand_values)_\d+\Z")
"""A name with a process-specific number."""
CONTEXT = re.compile(r"___context_manager_\w+\Z")
"""A context manager that is re-entered after a break."""

_NUMBERED_IN_TEXT = re.compile(r"\b(__builtins_dict__|__gen_rand_values)_\d+\b")
_COUNTED_IN_TEXT = re.compile(r"((?:…|\d{9,})_c)\d+")
_GRAPH_CALLED = re.compile(r"\b(__compiled_fn_\w+)\(")
_RESUME_CALLED = re.compile(r"\b(__resume_at_\w+)\(")
_STACK_IN_TEXT = re.compile(r"___stack(\d+)")


def without_numbers(text: str) -> str:
    """Remove process-specific numbers from the names that Dynamo generates.

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
    """Return the names of the resume functions that a text calls."""
    return _RESUME_CALLED.findall(text)


def broken_function(name: str) -> tuple[str, int | None]:
    """Return the original function of a code's name, and the line at which it resumes.

    >>> broken_function("torch_dynamo_resume_in_forward_at_31"), broken_function("forward")
    (('forward', 31), ('forward', None))
    """
    found = RESUMED.match(name)
    return (name, None) if found is None else (found[1], int(found[2]))


def renamed(name: str, function: str) -> str:
    """Return a code's name with the function replaced.

    >>> renamed("torch_dynamo_resume_in_wrapper_at_31", "Bert.forward"), renamed("wrapper", "f")
    ('torch_dynamo_resume_in_Bert.forward_at_31', 'f')
    """
    line = broken_function(name)[1]
    return function if line is None else f"torch_dynamo_resume_in_{function}_at_{line}"


def with_stack_named(source: str, words: str) -> str:
    """Return a value's source with ``words`` in place of a stack slot.

    >>> with_stack_named("___stack0.shape", "value of line 5")
    'value of line 5.shape'
    """
    return _STACK_IN_TEXT.sub(words, source)
