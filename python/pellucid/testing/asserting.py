# SPDX-License-Identifier: Apache-2.0
"""``assert_compiles``: how a function compiles, as an assertion."""

from __future__ import annotations

import importlib.util
import shutil
import threading
from typing import Any, Callable, Collection

from . import dumps

_ONE_AT_A_TIME = threading.RLock()
"""A capture has all that the process compiles."""


def assert_compiles(
    fn: Callable[..., Any],
    *args: Any,
    breaks: int = 0,
    recompiles: int = 0,
    graphs: int | None = None,
    calls: int = 2,
    allow: Collection[str] = (),
    **kwargs: Any,
) -> Any:
    """Assert that a function compiles, with this number of graph breaks, recompiles and graphs.

    The function is called in a capture, after ``torch.compiler.reset()``.  If it fails, the error
    names each line, the cause and what to change, and the page of the capture is kept.

    Args:
        fn: a compiled function or module, or a function that calls one.  If its first call compiles
            nothing, it is compiled with ``torch.compile`` and called again.
        args, kwargs: the arguments of each call.
        breaks: the number of lines that break a graph.
        recompiles: the number of recompiles.
        graphs: the number of graphs.  By default it is 1 if no graph breaks or recompiles are
            expected, and not checked otherwise.
        calls: how often the function is called.  A second call finds code that is recompiled even
            for the same arguments.
        allow: kinds of findings that are accepted, such as ``eager`` for functions that run
            uncompiled.

    Returns:
        The result of the last call.

    Raises:
        AssertionError: the numbers differ, or something did not compile.
        Exception: whatever ``fn`` raises, if the capture has nothing to add.
        ImportError: PyTorch is not installed.

    >>> from pellucid.testing import assert_compiles
    >>> assert_compiles(torch.sin, torch.ones(2))  # doctest: +SKIP
    tensor([0.8415, 0.8415])
    """
    __tracebackhide__ = True
    if importlib.util.find_spec("torch") is None:
        raise ImportError(
            "assert_compiles: PyTorch is not installed. Install it with: pip install torch"
        )
    from pellucid.dump.store.load import load_all
    from pellucid.torch.api.fresh import call_compiled, captured_afresh

    from .judging import Expected, told

    expected = Expected(breaks, recompiles, graphs, allow)
    error: Exception | None = None
    with _ONE_AT_A_TIME:
        with captured_afresh(dumps.new_dump("assert_compiles")) as session:
            try:
                result = call_compiled(session, fn, args, kwargs, calls)
            except Exception as raised:
                error = raised
        text = told(load_all(session.directory), expected, error)
        if not text:
            shutil.rmtree(session.directory, ignore_errors=True)
    if text:
        cause = error and error.with_traceback(None)  # frames of torch, which hide the text
        raise AssertionError(text) from cause
    if error is not None:
        raise error
    return result
