# SPDX-License-Identifier: Apache-2.0
"""``find_difference``: at which stage, operation and line compiled code parts from eager."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from ..capture.connection import CAPTURE
from ..model.differences import Difference
from ..model.events import CompileKey, Graph, Started
from .prepare import prepare_debug

if TYPE_CHECKING:
    import torch

    from ..store.session import Session


def find_difference(
    fn: Callable[..., Any],
    *args: Any,
    reference: torch.dtype | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> Difference:
    """Run a function by each stage of its compile, and name where the first one parts from eager.

    The stages are the function itself, Dynamo's graphs (``captured``), AOTAutograd's (``AOT``),
    Inductor's after its passes (``post-grad``) and its program.  Each runs on the same values and
    the same random state.  What the function changes is put back, in place, before the next and at
    the end: modules, objects of the program's own classes, optimizers, ordinary containers,
    closures' variables, mutable defaults, what ``functools.partial`` holds, globals that its
    functions name, tensors with their shape, type, ``requires_grad`` and ``.grad``, and the global
    random generators.  Out of reach, and not compared, are values that only an object of a library
    holds, attributes of classes and functions, globals of other modules, ``torch.Generator``
    objects, and what is outside of the process.

    When the result can be differentiated and the function has computed no gradients itself, these
    are compared too.  Random numbers are drawn as eager draws them.

    Args:
        fn: a function or module, compiled or not; functions that it calls may be compiled.  Options
            that it was compiled with are kept, its backend is Inductor.
        args, kwargs: what it is called with.
        reference: a type that is more precise, ``torch.float64`` or its name; the report then says
            which of two stages is nearer to what the earlier one gives in that type.
        rtol, atol: elements a (of the earlier stage) and b are the same when
            ``|a - b| <= atol + rtol * |a|``.  By default ``rtol`` is 1e-4 for float32, 1e-2 for
            float16, 3e-2 for bfloat16, 1e-7 for float64, and ``atol`` that share of the root mean
            square of all elements; and when neither is given, a result that is as near to float64
            as eager's is no difference, if it is of the same type and finite at the same places.

    Returns:
        Stage, operation, both values, lines and what Python state is left different: true when
        there is a difference.  ``print`` it, or take its fields, or :meth:`.Difference.as_json`.

    Raises:
        Exception: whatever ``fn`` raises, eager or compiled.
        ValueError: ``reference`` is no type of fractions, or a tolerance is negative.

    >>> find_difference(lambda x: x.sin() + 1, torch.ones(3))  # doctest: +SKIP
    find_difference: no difference between eager, captured, AOT, post-grad, program
    """
    _check(reference, rtol, atol)
    if CAPTURE.innermost is not None:
        return _searched(CAPTURE.innermost, fn, args, kwargs, reference, (rtol, atol))
    made, found = Path(tempfile.mkdtemp(prefix="pellucid_find_difference_")), None
    try:
        with prepare_debug(made) as session:
            session.warns_when_empty = False  # the report tells
            found = _searched(session, fn, args, kwargs, reference, (rtol, atol))
    finally:
        if found is None or not found.names_files:
            shutil.rmtree(made, ignore_errors=True)
    return found if found.names_files else replace(found, directory="")


def _check(reference: Any, *tolerances: float | None) -> None:
    import torch

    if reference not in (None, torch.float64, "float64"):
        raise ValueError(f"reference: torch.float64 is wanted, not {reference!r}")
    for name, value in zip(("rtol", "atol"), tolerances):
        if value is not None and not value >= 0:
            raise ValueError(f"{name}: a number from 0 on is wanted, not {value!r}")


def _searched(
    session: Session,
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    reference: Any,
    tolerance: tuple[float | None, float | None],
) -> Difference:
    from .closeness import Tolerance
    from .search import Search

    found = Search(session, fn, args, kwargs, reference, Tolerance(*tolerance)).run()
    if found:
        session.record(found.as_event(_key(session, found)))
    return found


def _key(session: Session, found: Difference) -> CompileKey:
    """The compile that a difference is in: the first one, where no graph is named."""
    own = [graph.key for graph in session.of(Graph) if graph.file == found.file]
    return (own or [started.key for started in session.of(Started)] or [CompileKey("")])[0]
