# SPDX-License-Identifier: Apache-2.0
"""``find_difference``: the call, stage, operation and line where compiled code leaves eager."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from pellucid.dump.model.differences import Difference
from pellucid.dump.model.events import CompileKey, Graph, Started

from ..capture.connection import CAPTURE
from ..taps import calls, graph_hooks
from .prepare import prepare_debug

if TYPE_CHECKING:
    import torch

    from pellucid.dump.store.session import Session

_MOST_NOTES = 8


def find_difference(
    fn: Callable[..., Any],
    *args: Any,
    reference: torch.dtype | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    cure: bool = False,
    **kwargs: Any,
) -> Difference:
    """Find the first operation where compiled code and eager disagree.

    The function runs once as it is.  Each call that it makes of compiled code is compared with
    eager: its caches, guards, backend and options are the program's own.  If a call differs, or if
    the function runs nothing compiled, the function is compiled stage by stage: Dynamo's graphs
    (``captured``), AOTAutograd's (``AOT``), Inductor's after its passes (``post-grad``) and its
    program.

    Each run gets the same values and the same random state.  Whatever the function changes is
    restored in place before the next run and at the end: modules, objects of the program's own
    classes, optimizers, ordinary containers, closure variables, mutable defaults, the arguments of
    ``functools.partial``, globals that its functions name, tensors with their shape, type,
    ``requires_grad`` and ``.grad``, and random generators.  Not restored, and not compared, are
    values that only a library object holds, attributes of classes and functions, globals of other
    modules, and anything outside the process.

    If the result can be differentiated and the function has not computed gradients itself, the
    gradients are compared too.  Random numbers are drawn like in eager.

    Args:
        fn: a function or module, compiled or not; functions that it calls may be compiled.  A
            generator runs to its end.
        args, kwargs: the arguments of the call.
        reference: a more precise type, ``torch.float64`` or its name.  The report then says which
            of the two stages is closer to the result of the earlier one in that type.
        rtol, atol: elements a (of the earlier stage) and b are the same when
            ``|a - b| <= atol + rtol * |a|``.  By default ``rtol`` is 1e-4 for float32, 1e-2 for
            float16, 3e-2 for bfloat16 and 1e-7 for float64, and ``atol`` is the same fraction of
            the root mean square of all elements.  If neither is given, a result that is as close
            to float64 as eager's, has the same type and is finite at the same places is not a
            difference.
        cure: also try what torch offers to make them agree: without a pass of the program's own,
            without the decomposition of an operation, with eager's kernel for it, with settings of
            Inductor that change numbers or fuse less.  The report names the smallest change under
            which the same search finds no difference, and the time of a call without and with it.
            If there is none, a program with the smallest graph that still differs is written into
            the directory of the graphs.  Each change takes a compile and runs the function several
            times; what was compiled before is compiled again at its next call.

    Returns:
        The call, the stage, the operation, both values, the lines, and the Python state that
        differs afterwards; and what was compared and what was not.  It is true if there is a
        difference.  ``print`` it, or use its fields or :meth:`.Difference.as_json`.

    Raises:
        Exception: whatever ``fn`` raises, eager or compiled.
        ValueError: ``reference`` is not a floating-point type, or a tolerance is negative.

    >>> find_difference(lambda x: x.sin() + 1, torch.ones(3))  # doctest: +SKIP
    find_difference: no difference between eager, captured, AOT, post-grad, program
    """
    _check(reference, rtol, atol)
    given = (fn, args, kwargs, reference, (rtol, atol))
    if CAPTURE.innermost is not None:
        return _cured(cure, _searched(CAPTURE.innermost, *given), *given)
    made, found = Path(tempfile.mkdtemp(prefix="pellucid_find_difference_")), None
    try:
        with prepare_debug(made) as session:
            session.warns_when_empty = False  # the report says it
            found = _searched(session, *given)
    finally:
        if found is None or not found.names_files:
            shutil.rmtree(made, ignore_errors=True)
    found = _cured(cure, found, *given)
    return found if found.names_files else replace(found, directory="")


def _cured(asked: bool, found: Difference, *given: Any) -> Difference:
    """Return a difference with its cure, if that was asked for."""
    if not asked or not found:
        return found
    from .closeness import Tolerance
    from .cures import cure_of

    program, (reference, limits) = given[:3], given[3:]

    def search(session: Session, fn: Any, args: Any, kwargs: Any, until: str) -> Difference:
        return _search(session, fn, args, kwargs, reference, limits, until)

    return replace(found, cure=cure_of(found, search, program, Tolerance(*limits)))


def _check(reference: Any, *tolerances: float | None) -> None:
    import torch

    if reference not in (None, torch.float64, "float64"):
        raise ValueError(f"reference: expected torch.float64, not {reference!r}")
    for name, value in zip(("rtol", "atol"), tolerances):
        if value is not None and not value >= 0:
            raise ValueError(f"{name}: expected a number of at least 0, not {value!r}")


def _searched(session: Session, *given: Any) -> Difference:
    """Search, and record what was found in the capture."""
    found = _search(session, *given)
    if found:
        session.record(found.as_event(_key(session, found)))
    return found


def _search(
    session: Session,
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    reference: Any,
    tolerance: tuple[float | None, float | None],
    until: str = "program",
) -> Difference:
    from .as_it_runs import AsItRuns
    from .closeness import Tolerance
    from .program_state import ProgramState
    from .search import Search
    from .seen import run
    from .stages import Stages

    limits = Tolerance(*tolerance)
    before, own = ProgramState(fn, args, kwargs), AsItRuns(session, reference, limits)
    try:
        with calls.watched(own.enter):
            run(fn, args, kwargs)
    finally:
        before.restore()
    if own.seen.functions:
        found = own.report()
    else:
        stages = Stages(session, fn, args, kwargs)
        found = Search(session, stages, reference, limits, until).run()
        found = replace(found, compiled_here=graph_hooks.name_of_callable(fn))
    return _with_not_put_back(found, before.not_put_back)


def _with_not_put_back(found: Difference, why: dict[str, str]) -> Difference:
    notes = [f"not put back: {path}: {told}" for path, told in why.items()]
    new = [note for note in notes if note not in found.notes]
    return replace(found, notes=(*found.notes, *new[:_MOST_NOTES]))


def _key(session: Session, found: Difference) -> CompileKey:
    """Return the compile that contains a difference; the first one if no graph is named."""
    own = [graph.key for graph in session.of(Graph) if graph.file == found.file]
    return (own or [started.key for started in session.of(Started)] or [CompileKey("")])[0]
