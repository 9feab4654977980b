# SPDX-License-Identifier: Apache-2.0
"""AOTAutograd's graphs in torch releases whose ``aot_eager`` interprets them, node by node.

In these releases no Python function of the graph runs, so none could run from a file.  During a
capture, that backend is changed to do what newer releases do: generate the graph's ``forward`` in
the calling convention of compiled graphs (one list, emptied at once), and run that.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Callable

from .hooks import PROBE, Remove, never_compile, no_op

Compile = Callable[..., Callable[..., Any]]


def generate_interpreted_graphs(is_wanted: Callable[[Any], bool]) -> Remove:
    """Make ``aot_eager`` run the generated code of each graph for which ``is_wanted`` is true.

    The backend holds a reference to the function, so its code is replaced, not the function.  A
    torch that generates code anyway is not changed.
    """
    function = PROBE.get("aot_eager_compiler")
    if not isinstance(function, FunctionType) or function.__closure__:
        return no_op
    before, code_generator = function.__code__, PROBE.get("code_generator")
    if code_generator is None or not _interprets(before):
        return no_op
    original = FunctionType(before, function.__globals__, function.__name__, function.__defaults__)
    generator = _boxed(code_generator)

    def generated(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        graph = args[0] if args else kwargs.get("fx_g")
        if graph is None or not is_wanted(graph):
            return original(*args, **kwargs)  # type: ignore[no-any-return]
        graph.graph.set_codegen(generator())
        graph.recompile()

        def run(args: Any) -> Any:
            return graph.forward(args)

        run._boxed_call = True  # type: ignore[attr-defined]
        never_compile(run.__code__)
        return run

    shown, defaults = _trampoline.__code__, function.__kwdefaults__
    function.__kwdefaults__ = {**(defaults or {}), "pellucid_generated": generated}
    function.__code__ = shown

    def remove() -> None:
        if function.__code__ is shown:  # otherwise other code has changed it since
            function.__code__ = before
            function.__kwdefaults__ = defaults

    return remove


def _trampoline(*args: Any, pellucid_generated: Compile, **kwargs: Any) -> Any:
    # This runs in torch's namespace, so it reaches ours only through its defaults.
    return pellucid_generated(*args, **kwargs)


def _interprets(code: CodeType) -> bool:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return any("boxed_run" in each.co_names for each in [code, *inner])


def _boxed(base: Any) -> Any:
    """Return a code generator whose ``forward`` takes its inputs from one list."""

    class Boxed(base):  # type: ignore[misc]
        def gen_fn_def(self, free_vars: list[str], annotation: str) -> str:
            # Each is a name, perhaps with an annotation and a default.
            names = [free.partition(":")[0].partition("=")[0].strip() for free in free_vars]
            taken = [name for name in names if name != "self"]
            head = f"def {self._func_name}(self, args_list){annotation}:"
            if not taken:
                return head
            return f"{head}\n    {', '.join(taken)}, = args_list\n    args_list.clear()"

    return Boxed
